"""
The document that an editor with StarterKit, tables, tasks and images wrote, with all that it lacks. Pure.

Such an editor drops attributes that it does not declare, ids among them, so blocks are known by comparison with what it
was shown. A block that is shown alike is the one of before, value for value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, cast

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.block import HOLDERS, blocks_of
from mirrord.markdown.schema.document import INLINE, TEXTBLOCKS, Document, Node, make_document
from mirrord.markdown.starterkit.form_reading import (
    DETAILS_PATTERN,
    KnownForms,
    read_code_block,
    read_header,
)
from mirrord.markdown.starterkit.restored_text import restore_text
from mirrord.markdown.starterkit.shown_form import header_text, parts_of_details, show_block, show_part
from mirrord.markdown.write.block_matching import Pair, match_blocks
from mirrord.markdown.write.soft_breaks import soften_text

MAX_LEFT_PAIRS: Final = 2_000  # of new blocks with blocks that are gone: beyond, hidden marks do not move along


def from_starterkit(written: Document, base: Document, dialect: Dialect = Dialect.PLAIN) -> Document:
    """
    The document that is meant by *written*, by an editor that was shown *base* as `to_starterkit` has it.

    Raises:
        Damaged: a code block that is to be a node of another kind holds none.
    """
    old, new = base.get("content") or [], written.get("content") or []
    if not old and new == [{"type": "paragraph"}]:  # an editor needs a block
        return base
    return make_document(_Restoration(KnownForms(old, dialect), dialect).restore_blocks(new, old))


@dataclass(frozen=True, slots=True)
class _Restoration:
    """forms: those of inline nodes in the base."""

    forms: KnownForms
    dialect: Dialect

    def restore_blocks(self, new: Sequence[Node], old: Sequence[Node]) -> list[Node]:
        """The blocks *new* with what the editor lacks of *old*, the blocks in the same container."""
        new_blocks = blocks_of(new)
        pairs = match_blocks(blocks_of([show_part(node) for node in old]), new_blocks)
        former = _former_blocks(old, pairs)
        result: list[Node] = []
        for block, pair in zip(new_blocks, pairs, strict=True):
            if pair and pair.is_equal:
                result.append(old[pair.old])
            elif len(block.nodes) > 1 or block.nodes[0]["type"] in INLINE:
                result += restore_text([], block.nodes, self.forms)
            else:
                result += self._restore_block(block.nodes[0], old[pair.old] if pair else None, former)
        return result

    def _restore_block(self, new: Node, old: Node | None, former: Sequence[Node]) -> list[Node]:
        """The blocks that *new* stands for. old: the block it was; None: none. former: blocks gone beside it."""
        if new["type"] == "codeBlock":
            blocks = read_code_block(new, self.dialect)
            if blocks is None:
                return [_with_attributes(new, old)]
            return [_with_attributes(blocks[0], old), *blocks[1:]] if blocks else []
        if new["type"] == "blockquote" and (quoted := self._restore_quoted(new, old)):
            return [quoted]
        if new["type"] in TEXTBLOCKS:
            return [_with_attributes(self._restore_textblock(new, old), old)]
        if new["type"] in HOLDERS and new.get("content"):
            before = (_children_of(old) or [old]) if old else list(chain.from_iterable(map(_opened, former)))
            return [_with_attributes({**new, "content": self.restore_blocks(new["content"], before)}, old)]
        return [_with_attributes(new, old)]

    def _restore_textblock(self, new: Node, old: Node | None) -> Node:
        if old is None or old["type"] not in TEXTBLOCKS:
            old = {"type": new["type"]}
        soft = soften_text(new, show_block(old))
        content = restore_text(old.get("content") or [], soft.get("content") or [], self.forms)
        return {**soft, "content": content} if content else soft

    def _restore_quoted(self, new: Node, old: Node | None) -> Node | None:
        """The callout, footnote or unfolding block that the quote *new* stands for; None: it is a quote."""
        first, *blocks = new.get("content") or [{"type": "paragraph"}]
        inline = first.get("content") or []
        if first["type"] != "paragraph" or any("text" not in node for node in inline):
            return self._restore_details(first, blocks, old) if first["type"] == "paragraph" else None
        text = "".join(node["text"] for node in inline)
        if old and old["type"] == "blockquote" and _first_text(show_block(old)) == text:
            return None
        if old and old["type"] in ("callout", "footnoteDef") and header_text(old) == text:
            content = self.restore_blocks(blocks, _children_of(old)) or [{"type": "paragraph"}]
            return {**old, "content": content}
        if (header := read_header(text)) is None:
            return self._restore_details(first, blocks, old)
        same_kind = old if old and old["type"] == header["type"] else None
        content = self.restore_blocks(blocks, _children_of(old) if old else []) or [{"type": "paragraph"}]
        return _with_attributes({**header, "content": content}, _without_form(same_kind))

    def _restore_details(self, first: Node, blocks: Sequence[Node], old: Node | None) -> Node | None:
        inline = first.get("content") or []
        match = DETAILS_PATTERN.match(inline[0].get("text", "")) if inline else None
        if match is None or (
            old and old["type"] == "blockquote" and _first_text(show_block(old)) == _first_text(first)
        ):
            return None
        summary_text = inline[0]["text"][match.end() :]
        summary = [*([cast(Node, {**inline[0], "text": summary_text})] if summary_text else []), *inline[1:]]
        before = parts_of_details(old) if old and old["type"] == "details" else None
        old_summary, old_blocks = before or ((), _children_of(old) if old else ())
        content = self.restore_blocks(blocks, old_blocks) or [{"type": "paragraph"}]
        head: Node = {"type": "detailsSummary"}
        if summary := restore_text(old_summary, _trimmed(summary), self.forms):
            head["content"] = summary
        attrs: dict[str, Json] = {"open": bool(match[1])}
        parts: list[Node] = [head, {"type": "detailsContent", "content": content}]
        return _with_attributes({"type": "details", "attrs": attrs, "content": parts}, old if before else None)


def _former_blocks(old: Sequence[Node], pairs: Sequence[Pair | None]) -> list[Node]:
    """The blocks *old* that no new block was; none where comparing them with every new block would take long."""
    matched = {pair.old for pair in pairs if pair}
    former = [node for at, node in enumerate(old) if at not in matched]
    return former if len(former) * pairs.count(None) <= MAX_LEFT_PAIRS else []


def _with_attributes(new: Node, old: Node | None) -> Node:
    """*new* with the attributes of *old* that the editor did not write, if both are of one type."""
    if old is None or old["type"] != new["type"] or not old.get("attrs"):
        return new
    return {**new, "attrs": {**(old.get("attrs") or {}), **(new.get("attrs") or {})}}


def _without_form(old: Node | None) -> Node | None:
    """*old* without the attributes that its header says."""
    if old is None:
        return None
    attrs = {key: value for key, value in (old.get("attrs") or {}).items() if key not in ("type", "title", "fold")}
    return {**old, "attrs": attrs}


def _children_of(old: Node) -> Sequence[Node]:
    """The blocks in *old* that the editor was shown below its header."""
    if old["type"] == "details":
        parts = parts_of_details(old)
        return parts[1] if parts else ()
    return (old.get("content") or ()) if old["type"] in HOLDERS else ()


def _opened(node: Node) -> Iterator[Node]:
    """*node* and the blocks in it: what is gone may be in a new container, or out of an old one."""
    yield node
    yield from _children_of(node)


def _first_text(node: Node) -> str:
    """The text of the first paragraph in a quote, or of a paragraph."""
    paragraph = (node.get("content") or [node])[0] if node["type"] == "blockquote" else node
    return "".join(child.get("text", "") for child in paragraph.get("content") or ())


def _trimmed(inline: Sequence[Node]) -> list[Node]:
    """*inline* without a blank at its beginning."""
    if not inline or "text" not in inline[0] or not inline[0]["text"].startswith(" "):
        return list(inline)
    first: Node = {**inline[0], "text": inline[0]["text"][1:]}
    return [*([first] if first["text"] else []), *inline[1:]]
