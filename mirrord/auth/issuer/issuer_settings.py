"""What an operator says about identity providers elsewhere: the tables `mcp.issuer` and `console.accounts`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mirrord.errors import Refused, UserError

PEOPLE_RIGHTS = ("read", "review", "write")  # what people who sign in elsewhere may be allowed


@dataclass(frozen=True, slots=True)
class Issuer:
    """
    An authorization server elsewhere, the tokens of which a server over HTTP accepts.

    url: what its tokens call it. resource: the public origin of this server. people: what each may do, `read`, `review`
    or `write`, by the text that *claim* of a token has. keys: a file with its public keys; None: they are fetched.
    """

    url: str
    resource: str
    people: Mapping[str, str]
    claim: str = "sub"
    keys: Path | None = None


def parse_issuer(written: Mapping[str, Any]) -> Issuer:
    """The issuer of a table. Raises UserError for one that lacks something, and for rights that there are not."""
    if missing := [key for key in ("url", "resource", "people") if not written.get(key)]:
        raise UserError(f"The table mcp.issuer lacks {missing[0]!r}.")
    if wrong := [rights for rights in written["people"].values() if rights not in PEOPLE_RIGHTS]:
        raise UserError(f"mcp.issuer.people has {wrong[0]!r}; there are {', '.join(PEOPLE_RIGHTS)}.")
    keys = Path(written["keys"]).expanduser().absolute() if "keys" in written else None
    resource = written["resource"].rstrip("/")  # the URL of the issuer is compared letter by letter
    return Issuer(written["url"], resource, written["people"], written.get("claim", "sub"), keys)


ACCOUNT_RETURN_PATH = "/sign-in/account/return"


@dataclass(frozen=True, slots=True)
class AccountIssuer:
    """
    An identity provider at which people of the console sign in.

    url: what its tokens call it. client: the console's id there. origin: the public one of the console. claim: of which
    the text is the person. secret_file: with the console's secret there; None: it has none.
    """

    url: str
    client: str
    origin: str
    claim: str = "email"
    secret_file: Path | None = None

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends people back to."""
        return self.origin + ACCOUNT_RETURN_PATH

    def secret(self) -> str | None:
        """The console's secret, read at each use, so that it can be renewed. Raises Refused if it cannot be read."""
        if self.secret_file is None:
            return None
        try:
            return self.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"The console's secret at the identity provider cannot be read: {error}") from error


def parse_accounts(written: Mapping[str, Any] | None) -> AccountIssuer | None:
    """The identity provider of a table. Raises UserError for one that lacks something, or an address without TLS."""
    if written is None:
        return None
    if missing := [key for key in ("url", "client", "origin") if not written.get(key)]:
        raise UserError(f"The table console.accounts lacks {missing[0]!r}.")
    parts, origin = urlsplit(written["url"]), written["origin"].rstrip("/")
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UserError(f"console.accounts.url is {written['url']!r}; write a URL with https.")
    place = urlsplit(origin)
    is_local = place.scheme == "http" and place.hostname in ("localhost", "127.0.0.1", "::1")
    if not place.hostname or place.path or place.query or not (place.scheme == "https" or is_local):
        raise UserError(f"console.accounts.origin is {written['origin']!r}; write the console's own https://NAME.")
    secret = Path(written["secret_file"]).expanduser().absolute() if "secret_file" in written else None
    return AccountIssuer(written["url"], written["client"], origin, written.get("claim", "email"), secret)
