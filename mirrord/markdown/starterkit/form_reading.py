"""Read the forms that stand for nodes which an editor with StarterKit lacks. Pure."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, cast

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.schema.document import INLINE, Node, is_node, parse_json_or_none
from mirrord.markdown.starterkit.shown_form import (
    MATH_LANGUAGE,
    NODE_LANGUAGE,
    RAW_LANGUAGE,
    is_shown_as_text,
    shown_text,
)

MIN_KNOWN_CHARACTERS: Final = 4  # of a form that is recognised away from its place: shorter ones may be plain text
MAX_KNOWN_FORMS: Final = 500  # of other kinds than wikilinks: each is looked for everywhere in new text

_WIKILINK: Final = r"!?\[\[[^\[\]\n]*\]\]"
_WIKILINK_PATTERN: Final = re.compile(_WIKILINK)
_CALLOUT_PATTERN: Final = re.compile(r"\[!([^\[\]\n\r]+)\]([+-]?)(?: +(.*))?")
_FOOTNOTE_PATTERN: Final = re.compile(r"\[\^([^\s\[\]\\^][^\s\[\]\\]*)\]:")
DETAILS_PATTERN: Final = re.compile(r"<details( open)?> ?")
_LEAD: Final = "x "  # before a form that is read: at the beginning of a line it may mean a block


class KnownForms:
    """
    Reads forms of inline nodes in what a person typed.

    Those of the nodes in *content*, a document, are recognised wherever they were moved to.
    """

    def __init__(self, content: Iterable[Node], dialect: Dialect) -> None:
        self._dialect = dialect
        self._nodes: dict[str, Node] = {}
        for node in _inline_nodes_in(content):
            form = shown_text(node)
            if len(form) >= MIN_KNOWN_CHARACTERS:
                self._nodes.setdefault(form, node)

    def read(self, node: Node, text: str) -> Node | None:
        """The inline *node* as it reads with *text* in place of its form; None if that is no such form."""
        attrs = node.get("attrs") or {}
        if node["type"] == "mention":
            label = text.removeprefix("@").strip()
            return {"type": "mention", "attrs": {**attrs, "label": label}} if label else None
        return self._read_alone(text)

    def split(self, text: str) -> Iterator[str | Node]:
        """The parts of *text*: plain ones, and the nodes without marks that forms in it stand for."""
        end = 0
        for match in self._pattern.finditer(text):
            node = self._nodes.get(match[0]) or self._read_alone(match[0])
            if node is None:
                continue
            if match.start() > end:
                yield text[end : match.start()]
            yield without_marks(node)
            end = match.end()
        if end < len(text):
            yield text[end:]

    @cached_property
    def _pattern(self) -> "re.Pattern[str]":
        forms = [form for form in self._nodes if not _WIKILINK_PATTERN.fullmatch(form)][:MAX_KNOWN_FORMS]
        return re.compile("|".join([*map(re.escape, sorted(forms, key=len, reverse=True)), _WIKILINK]))

    def _read_alone(self, text: str) -> Node | None:
        """The inline node that *text* is the Markdown of; None if it is a text, or more than one node."""
        blocks = read_blocks(_LEAD + text, self._dialect)
        inline = (blocks[0].get("content") or []) if len(blocks) == 1 and blocks[0]["type"] == "paragraph" else []
        if len(inline) != 2 or inline[0].get("text") != _LEAD or not is_shown_as_text(inline[1]):
            return None
        return without_marks(inline[1])


def without_marks(node: Node) -> Node:
    """*node* without marks."""
    return cast(Node, {key: value for key, value in node.items() if key != "marks"})


def _inline_nodes_in(content: Iterable[Node]) -> Iterator[Node]:
    for node in content:
        if node["type"] in INLINE and is_shown_as_text(node):
            yield node
        yield from _inline_nodes_in(node.get("content") or ())


def read_blocks(text: str, dialect: Dialect) -> list[Node]:
    """The blocks of the Markdown *text*, which is no front matter."""
    return read_nodes(outline_of(text, Surroundings(dialect=dialect)))


def read_code_block(node: Node, dialect: Dialect) -> list[Node] | None:
    """
    The blocks that the code block *node* stands for, without ids; None: it is code.

    Raises Damaged if it is to be a node and holds none.
    """
    language = (node.get("attrs") or {}).get("language")
    text = "".join(child.get("text", "") for child in node.get("content") or ())
    if language == RAW_LANGUAGE:
        return read_blocks(text, dialect)
    if language == MATH_LANGUAGE:
        return [{"type": "mathBlock", "attrs": {"latex": text}}]
    if language != NODE_LANGUAGE:
        return None
    value = parse_json_or_none(text)
    if not is_node(value):
        raise Damaged(f"a code block with the language `{NODE_LANGUAGE}` holds no node of TipTap as JSON")
    return [cast(Node, value)]


def read_header(text: str) -> Node | None:
    """The callout or footnote, without its blocks, of which *text* is the first paragraph in a quote; None: none."""
    if match := _CALLOUT_PATTERN.fullmatch(text):
        values: dict[str, Json] = {"type": match[1], "fold": match[2], "title": match[3]}
        return {"type": "callout", "attrs": {key: value for key, value in values.items() if value}}
    if match := _FOOTNOTE_PATTERN.fullmatch(text):
        return {"type": "footnoteDef", "attrs": {"label": match[1]}}
    return None
