"""What a mapping says about links: the address by which bodies of the app link to its pages."""

import re
from collections.abc import Mapping as ByKey
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mirrord.errors import UserError

KEYS = ("url",)
_ID = "{id}"
_PLAIN = r"[A-Za-z0-9._~!$*+,:@/-]"  # characters that Markdown and HTML have in addresses as they are
_URL = re.compile(rf"(?:https?:/)?/{_PLAIN}*\{{id\}}{_PLAIN}*")
_PLAIN_ID = "[A-Za-z0-9._~-]+"  # other ids are spelled in several ways


@dataclass(frozen=True, slots=True)
class LinkRules:
    """url: the address of a page in the bodies of the app, with `{id}` for its id."""

    url: str

    @property
    def beginning(self) -> str:
        """What every address begins with."""
        return self.url.partition(_ID)[0]

    @property
    def addresses(self) -> re.Pattern[str]:
        """What every address matches, with its part of the page behind."""
        return _pattern_of(self.url)

    def id_in(self, address: str) -> str | None:
        """The id of the page at *address*; None: it is no address of a page."""
        match = self.addresses.fullmatch(address)
        return match["id"] if match is not None else None

    def address_of(self, external_id: str) -> str | None:
        """The address of a page; None: no address names its id."""
        address = self.url.replace(_ID, external_id)
        return address if self.id_in(address) == external_id else None


@lru_cache(maxsize=256)
def _pattern_of(url: str) -> re.Pattern[str]:
    before, _, after = url.partition(_ID)
    return re.compile(rf"{re.escape(before)}(?P<id>{_PLAIN_ID}){re.escape(after)}(?=#|\Z)")


def read_link_rules(values: ByKey[str, Any]) -> LinkRules | None:
    """The rules in the section `links` of a file; None: it has none. Raises UserError."""
    if not values:
        return None
    url = values.get("url")
    if not isinstance(url, str) or not _URL.fullmatch(url) or url.count(_ID) != 1:
        raise UserError(
            '`links.url` must be the address by which bodies link to pages, such as "/pages/{id}" or '
            '"https://wiki.example/pages/{id}", without `?` and `#`.'
        )
    return LinkRules(url)
