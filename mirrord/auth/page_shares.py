"""
Shares: pages that people without a session may read, by a link that expires or under a public name.

A share is a file named by the digest of its token, as sign-in links are. So every process knows a share as soon as it
is made, and refuses it as soon as it is revoked.
"""

import hashlib
import os
import re
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

import orjson

from mirrord.errors import UserError

MAX_SHARE_DAYS = 365
MAX_SHARES = 200  # of a tenant; a list reads the files of all tenants
_DAY_SECONDS = 86_400
_TOKEN_BYTES = 16
_ID_CHARACTERS = 16  # of the digest of its token
_PUBLIC_NAME = re.compile("[a-z0-9](?:[a-z0-9-]{1,38}[a-z0-9])")
_CREATE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """What is shared. has_inside: with all pages below the page. by: the name of the person who shares it."""

    tenant: UUID
    page: UUID
    has_inside: bool
    by: str


@dataclass(frozen=True, slots=True)
class PageShare:
    """
    A shared place.

    id: in lists; gives no access. made_at, until: Unix seconds; until None: until it is revoked. name: the public name
    of a published place; None: there is a secret link. is_indexed: whether search engines may list it.
    """

    id: str
    place: SharedPlace
    made_at: float
    until: float | None = None
    name: str | None = None
    is_indexed: bool = False


class ShareStore:
    """The shares of an installation."""

    def __init__(self, data: Path) -> None:
        """data: the data directory, in which the console has its key."""
        self._directory = data / "console" / "shares"

    def share(self, place: SharedPlace, days: int) -> tuple[PageShare, str]:
        """A new share for so many days, and the token of its link, which is kept nowhere. Raises UserError."""
        if not 1 <= days <= MAX_SHARE_DAYS:
            raise UserError(f"A link is valid for 1 to {MAX_SHARE_DAYS} days.")
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), time.time()
        share = PageShare(_id_of(token), place, now, now + days * _DAY_SECONDS)
        self._keep(token, share)
        return share, token

    def publish(self, place: SharedPlace, name: str, *, is_indexed: bool) -> PageShare:
        """A new share under a public name. Raises UserError if the name is taken, or cannot be one."""
        if not _PUBLIC_NAME.fullmatch(name):
            raise UserError("A public name has 3 to 40 of the letters a-z, digits and dashes.")
        share = PageShare(_id_of(name), place, time.time(), name=name, is_indexed=is_indexed)
        try:
            self._keep(name, share)
        except FileExistsError:
            raise UserError(f"The public name {name!r} is taken.") from None
        return share

    def find(self, token: str) -> PageShare | None:
        """The share of a token or public name; None: unknown, expired or revoked."""
        share = _read_share(self._path_of(token))
        return share if share is not None and _is_live(share) else None

    def shares_of(self, tenant: UUID) -> list[PageShare]:
        """The shares of a tenant, the newest first. Removes those that have expired."""
        shares = [share for share in self._live_shares() if share.place.tenant == tenant]
        return sorted(shares, key=lambda share: -share.made_at)

    def revoke(self, tenant: UUID, share_id: str) -> bool:
        """End a share. False: the tenant has none with this id."""
        for share in self.shares_of(tenant):
            if share.id == share_id:
                for file in self._directory.glob(f"{share.id}*"):
                    file.unlink(missing_ok=True)
                return True
        return False

    def _live_shares(self) -> list[PageShare]:
        shares = []
        for file in self._directory.glob("[0-9a-f]*"):
            share = _read_share(file)
            if share is not None and _is_live(share):
                shares.append(share)
            elif share is not None:
                file.unlink(missing_ok=True)
        return shares

    def _keep(self, token: str, share: PageShare) -> None:
        """Store a share, whole or not at all. Raises FileExistsError, and UserError if there are too many."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(self.shares_of(share.place.tenant)) >= MAX_SHARES:
            raise UserError(f"This tenant has {MAX_SHARES} shares; revoke some.")
        temporary = self._directory / f".{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(temporary, _CREATE_FLAGS, 0o600), "wb") as stream:
                stream.write(orjson.dumps(asdict(share)))
                stream.flush()
                os.fsync(stream.fileno())
            os.link(temporary, self._path_of(token))
        finally:
            temporary.unlink(missing_ok=True)

    def _path_of(self, token: str) -> Path:
        return self._directory / hashlib.sha256(token.encode()).hexdigest()


def _id_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:_ID_CHARACTERS]


def _read_share(file: Path) -> PageShare | None:
    """The share in a file, expired or not; None: there is none, or the file is damaged and shares nothing."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        facts = dict(orjson.loads(file.read_bytes()))
        place = dict(facts["place"])
        return PageShare(
            id=str(facts["id"]),
            place=SharedPlace(UUID(place["tenant"]), UUID(place["page"]), bool(place["has_inside"]), str(place["by"])),
            made_at=float(facts["made_at"]),
            until=float(facts["until"]) if facts["until"] is not None else None,
            name=str(facts["name"]) if facts["name"] is not None else None,
            is_indexed=facts["is_indexed"] is True,
        )
    return None


def _is_live(share: PageShare) -> bool:
    return share.until is None or share.until >= time.time()
