"""
Change texts of a block in its lines, and nothing else.

A page may be of another dialect than mirrord's: directives, outlines indented with tabs, Liquid tags. The block writer
would give all of a changed block its own spelling; here everything beside the changed words stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mirrord.markdown.inline.inline_splice import InlineSource, TextEdit, changed_runs, splice_inline
from mirrord.markdown.inline.source_map import units_of
from mirrord.markdown.inline.source_style import Style, style_of
from mirrord.markdown.schema.document import TEXTBLOCKS, Node, text_node
from mirrord.markdown.schema.normal_form import fingerprint
from mirrord.markdown.write.block_parts import Line, Part
from mirrord.markdown.write.text_places import LineEdit, TextPlace, edit_lines, find_text, text_of, text_tokens

_RUNNING = TEXTBLOCKS | {"detailsSummary"}
_TEXT_KEYS = {"rawBlock": "raw", "mathBlock": "latex"}  # the attribute that holds the text of a block
_LEAVES = _RUNNING | _TEXT_KEYS.keys() | {"codeBlock", "horizontalRule"}
_CELLS = frozenset(["tableHeader", "tableCell"])


def splice_texts(
    lines: Sequence[str], part: Part, node: Node, habit: Style, references: Mapping[str, Any]
) -> list[Line]:
    """
    The *lines* of *part* with the texts of the normal block *node*; `at` counts them.

    None if the block differs in more than texts, or if the texts cannot be located or read back. Their blocks are
    not read again.

    habit: the usual style of the page. references: its definitions.
    """
    if not part.tokens or not _is_like(part.node, node):
        return []
    texts, olds, news = text_tokens(part.tokens), list(_leaves_of(part.node)), list(_leaves_of(node))
    if not len(texts) == len(olds) == len(news):
        return []
    origin = part.tokens[0].map[0] if part.tokens[0].map else 0
    edits: list[LineEdit] = []
    for text, old, new in zip(texts, olds, news, strict=True):
        if old == new or fingerprint(old) == fingerprint(new):
            continue
        place = find_text(text, lines, origin)
        text_edits = _edits_of(place, old, new, habit, references) if place else []
        if not place or not text_edits:
            return []
        edits += place.edits_of(text_edits)
    return edit_lines(lines, edits) if edits else []


def _is_like(old: Node, new: Node) -> bool:
    """Whether two normal blocks differ in texts only."""
    if old["type"] != new["type"]:
        return False
    key = _TEXT_KEYS.get(old["type"])
    if _attrs_but(old, key) != _attrs_but(new, key):
        return False
    mine, theirs = old.get("content", []), new.get("content", [])
    if old["type"] in _LEAVES:
        return bool(mine) == bool(theirs)
    return len(mine) == len(theirs) and not _has_moved(mine, theirs) and all(map(_is_like, mine, theirs))


def _has_moved(old: Sequence[Node], new: Sequence[Node]) -> bool:
    """Whether one of the *new* blocks was another one of the *old* before: it takes its lines along."""
    changed = [(before, after) for before, after in zip(old, new, strict=True) if before != after]
    if len(changed) < 2:
        return False
    meanings = {fingerprint(before) for before, _ in changed}
    return any(fingerprint(after) in meanings for _, after in changed)


def _attrs_but(node: Node, key: str | None) -> dict[str, Any]:
    attrs = node.get("attrs", {})
    return {name: value for name, value in attrs.items() if name != key} if key else attrs


def _leaves_of(node: Node) -> Iterator[Node]:
    """The blocks with texts in *node*, in order; running text only if there is some."""
    if node["type"] in _LEAVES:
        if "content" in node or node["type"] not in _RUNNING:
            yield node
        return
    for child in node.get("content", []):
        yield from _leaves_of(child)


def _edits_of(place: TextPlace, old: Node, new: Node, habit: Style, references: Mapping[str, Any]) -> list[TextEdit]:
    """The edits that turn the text of *old* into that of *new*; none if it is another text."""
    if (place.token.type == "inline") != (old["type"] in _RUNNING):
        return []
    if old["type"] not in _RUNNING:
        return _edits_of_text(text_of(place.token), _text_in(old), _text_in(new))
    style = style_of([place.token], habit)
    is_one_line = (
        place.cell is not None
        or old["type"] == "detailsSummary"
        or (old["type"] == "heading" and len(place.lines) == 1)
    )
    source = InlineSource(place.token.content, references, style, is_one_line)
    return splice_inline(source, old.get("content", []), new.get("content", []))


def _edits_of_text(source: str, old: str, new: str) -> list[TextEdit]:
    if source != old:
        return []
    before, after = ([unit.key for unit in units_of([text_node(text)])] for text in (old, new))
    hunks = changed_runs(before, after)
    return [TextEdit(hunk.start, hunk.end, new[hunk.new_start : hunk.new_end]) for hunk in hunks]


def _text_in(node: Node) -> str:
    if key := _TEXT_KEYS.get(node["type"]):
        return str(node.get("attrs", {}).get(key, ""))
    return "".join(child.get("text", "") for child in node.get("content", []))
