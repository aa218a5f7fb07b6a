"""Front matter that is kept with a page's summary and read when a question asks for its values."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from mirrord.errors import Damaged

if TYPE_CHECKING:
    from mirrord.markdown.frontmatter.yaml_reader import Json

_SPELT_OTHERWISE = re.compile(r"[\\?]|''")  # a key may be written in a way that differs from its text


class FrontMatter:
    """The YAML of one page; immutable. source: without its fences."""

    __slots__ = ("_properties", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._properties: Mapping[str, Json] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrontMatter) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    def may_have(self, key: str) -> bool:
        """Whether reading it may show the top-level *key*; False is certain."""
        return key in self.source or _SPELT_OTHERWISE.search(self.source) is not None

    @property
    def properties(self) -> "Mapping[str, Json]":
        """The values by key; empty if it cannot be read. The first use takes about 0.1 ms, later ones nothing."""
        if self._properties is None:
            self._properties = _read_properties(self.source)
        return self._properties


def _read_properties(source: str) -> "Mapping[str, Json]":
    from mirrord.markdown.frontmatter.yaml_reader import load_values  # noqa: PLC0415  (lists do without it)

    try:
        return load_values(source)
    except Damaged:
        return MappingProxyType({})


EMPTY_FRONT_MATTER = FrontMatter("")
