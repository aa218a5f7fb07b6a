"""Front matter that is kept with a page's summary and read when a question asks for its values."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import HeadForm

if TYPE_CHECKING:
    from mirrord.markdown.frontmatter.yaml_reader import Json

_SPELT_OTHERWISE = re.compile(r"[\\?]|''")  # a key may be written in a way that differs from its text


class FrontMatter:
    """The front matter of one page; immutable. source: without its fences."""

    __slots__ = ("_form", "_properties", "source")

    def __init__(self, source: str, form: HeadForm = HeadForm.YAML) -> None:
        self.source, self._form = source, form
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
            self._properties = _read_properties(self.source, self._form)
        return self._properties


def _read_properties(source: str, form: HeadForm) -> "Mapping[str, Json]":
    from mirrord.markdown.frontmatter.page_properties import load_head  # noqa: PLC0415  (lists do without it)

    try:
        return load_head(source, form)
    except Damaged:
        return MappingProxyType({})


EMPTY_FRONT_MATTER = FrontMatter("")
