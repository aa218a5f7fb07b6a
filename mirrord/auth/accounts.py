"""
Accounts: people who sign in at an identity provider elsewhere, and their roles by tenant.

An account is a file named by the digest of the person, read at each request: who is taken out has no access from that
moment. Its mark is in the person's sessions, so those do not come back with an account that is made again.
"""

import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import orjson

from mirrord.auth.roles import Role
from mirrord.errors import UserError

MAX_PERSON_CHARACTERS = 320  # an address of mail has at most as many
_MARK_BYTES = 16
_CREATE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY


@dataclass(frozen=True, slots=True)
class Account:
    """A person as the identity provider names them. mark: of this account, in its sessions. roles: by tenant."""

    person: str
    mark: str
    roles: Mapping[UUID, Role]


class AccountStore:
    """The accounts of an installation."""

    def __init__(self, data: Path) -> None:
        """data: the data directory, in which the console has its key."""
        self._directory = data / "console" / "accounts"

    def find(self, person: str) -> Account | None:
        """The account of a person; None: that person has no access."""
        account = _read_account(self._path_of(person))
        return account if account is not None and account.person == person else None

    def list_accounts(self) -> list[Account]:
        """All accounts, by person."""
        accounts = [_read_account(file) for file in self._directory.glob("[0-9a-f]*")]
        return sorted((account for account in accounts if account is not None), key=lambda account: account.person)

    def set_role(self, person: str, tenant: UUID, role: Role) -> None:
        """Give a person a role in a tenant, in place of the one they had. Raises UserError."""
        if not 0 < len(person) <= MAX_PERSON_CHARACTERS or not person.isprintable():
            raise UserError(
                f"A person has 1 to {MAX_PERSON_CHARACTERS} characters, as the identity provider writes it."
            )
        account = self.find(person) or Account(person, secrets.token_hex(_MARK_BYTES), {})
        self._write(replace(account, roles={**account.roles, tenant: role}))

    def remove(self, person: str, tenant: UUID | None = None) -> bool:
        """Take a person out of a tenant; None: out of all. False: the person had no role there."""
        account = self.find(person)
        if account is None or (tenant is not None and tenant not in account.roles):
            return False
        roles = {place: role for place, role in account.roles.items() if tenant not in (None, place)}
        if roles:
            self._write(replace(account, roles=roles))
        else:
            self._path_of(person).unlink(missing_ok=True)
        return True

    def _write(self, account: Account) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = {"person": account.person, "mark": account.mark, "roles": {str(k): v for k, v in account.roles.items()}}
        temporary = self._directory / f".{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(temporary, _CREATE_FLAGS, 0o600), "wb") as stream:
                stream.write(orjson.dumps(facts))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(self._path_of(account.person))
        finally:
            temporary.unlink(missing_ok=True)

    def _path_of(self, person: str) -> Path:
        return self._directory / hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()


def _read_account(file: Path) -> Account | None:
    """The account in a file; None: there is none, or the file is damaged and gives no access."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        facts = dict(orjson.loads(file.read_bytes()))
        roles = {UUID(tenant): Role(role) for tenant, role in dict(facts["roles"]).items()}
        return Account(str(facts["person"]), str(facts["mark"]), roles)
    return None
