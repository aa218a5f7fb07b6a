"""What an operator says about an authorization server elsewhere: the table `mcp.issuer`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrord.errors import UserError

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
