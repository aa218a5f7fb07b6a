"""
What a document written by an app would remove from its page although no person may have removed it. Pure.

TipTap shows a document with one node that the editor does not know as an empty one, and the next save of that editor
writes it so. Other programs drop such nodes first. Both look like a person's edit, so they are judged by what is left.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mirrord.markdown.schema.document import INLINE, Node

MIN_KEPT_CHARACTERS: Final = 16  # of text that is in both documents: with fewer, nothing of the page is left

# TipTap's StarterKit, TableKit, TaskList, TaskItem and Image. The parts of `details` count as one node with it.
ORDINARY_NODES: Final = frozenset(
    {
        *("doc", "paragraph", "heading", "text", "hardBreak", "image", "codeBlock", "blockquote", "horizontalRule"),
        *("bulletList", "orderedList", "listItem", "taskList", "taskItem"),
        *("table", "tableRow", "tableHeader", "tableCell"),
    }
)
ORDINARY_MARKS: Final = frozenset({"bold", "italic", "strike", "code", "link", "underline"})
_MAX_NAMED_TYPES = 4  # in a sentence


@dataclass(frozen=True, slots=True)
class LossLimits:
    """
    What may be removed from a page without being asked about.

    guarded_bytes: of text; a page that has no more may be emptied. dropped_nodes: of types that ordinary editors do not
    know; fewer may be removed.
    """

    guarded_bytes: int
    dropped_nodes: int


USUAL_LIMITS: Final = LossLimits(guarded_bytes=200, dropped_nodes=3)
HALTED_LIMITS: Final = LossLimits(guarded_bytes=MIN_KEPT_CHARACTERS, dropped_nodes=1)  # while many pages are held


def find_loss(old: Sequence[Node], new: Sequence[Node], limits: LossLimits = USUAL_LIMITS) -> str | None:
    """
    What of a page with the blocks *old* is gone in *new*, as half a sentence; None: nothing that is held.

    A change of one place of the page is never held, nor is one that leaves some of its text and one such node.
    """
    if not _begin_alike(old, new):
        old_texts, new_texts = Counter(_texts_in(old)), Counter(_texts_in(new))
        size = sum(len(text.encode(errors="replace")) for text in old_texts.elements())
        if size > limits.guarded_bytes and not _leave_text(old_texts, new_texts):
            return f"nothing of the page's {size:,} bytes of text is left{_reason_of(Counter(_foreign_types_in(old)))}"
    if any(_foreign_types_in(new)):
        return None
    dropped_types = Counter(_foreign_types_in(old))
    if dropped_types.total() >= limits.dropped_nodes:
        return f"every {_names_of(dropped_types, ' and ')} is gone from the page"
    return None


def _begin_alike(old: Sequence[Node], new: Sequence[Node]) -> bool:
    """Whether enough text stays where it was, from the beginning on: most changes need no other look at the texts."""
    count = 0
    for old_text, new_text in zip(_texts_in(old), _texts_in(new), strict=False):
        count += len(old_text) if old_text == new_text else 0
        if count >= MIN_KEPT_CHARACTERS:
            return True
    return False


def _texts_in(content: Sequence[Node]) -> Iterator[str]:
    """The texts of paragraphs, cells and atoms, without white space at both ends."""
    for node in content:
        children = node.get("content") or ()
        if children and not any(child["type"] in INLINE for child in children):
            yield from _texts_in(children)
        elif text := _text_of(node).strip():
            yield text


def _foreign_types_in(content: Sequence[Node]) -> Iterator[str]:
    """The types of nodes and marks that ordinary editors do not know; what is inside such a node does not count."""
    for node in content:
        foreign_types = _foreign_types_of(node)
        yield from foreign_types
        if not foreign_types and (children := node.get("content")):
            yield from _foreign_types_in(children)


def _foreign_types_of(node: Node) -> list[str]:
    """The types of *node* and its marks that ordinary editors do not know; a closing tag counts with its opening."""
    marks = [mark["type"] for mark in node.get("marks") or () if mark["type"] not in ORDINARY_MARKS]
    if node["type"] in ORDINARY_NODES or str((node.get("attrs") or {}).get("raw")).startswith("</"):
        return marks
    return [node["type"], *marks]


def _text_of(node: Node) -> str:
    """The text of a block without blocks in it, or of an atom: its words, and what its attributes say."""
    if "text" in node:
        targets = [(mark.get("attrs") or {}).get("href") for mark in node.get("marks") or () if mark["type"] == "link"]
        return node["text"] + "".join(target for target in targets if isinstance(target, str))
    if node["type"] == "hardBreak":
        return "\n"  # a line break that an editor made hard is the same text
    if children := node.get("content"):
        return "".join(map(_text_of, children))
    attrs = sorted((node.get("attrs") or {}).items())
    return " ".join(value for key, value in attrs if key != "id" and isinstance(value, str))


def _leave_text(old: Counter[str], new: Counter[str]) -> bool:
    """Whether some of the texts *old* are in *new*, whole or as a stretch that is too long to be there by chance."""
    whole_texts = old & new
    if sum(len(text) * count for text, count in whole_texts.items()) >= MIN_KEPT_CHARACTERS:
        return True
    return not _stretches_of(old).isdisjoint(_stretches_of(new))


def _stretches_of(texts: Iterable[str]) -> set[str]:
    """Every stretch of MIN_KEPT_CHARACTERS in *texts*."""
    return {
        text[start : start + MIN_KEPT_CHARACTERS]
        for text in texts
        for start in range(len(text) - MIN_KEPT_CHARACTERS + 1)
    }


def _reason_of(foreign_types: Counter[str]) -> str:
    if not foreign_types:
        return ""
    return f", as when an editor does not know {_names_of(foreign_types, ' or ')} and shows an empty page"


def _names_of(types: Counter[str], conjunction: str) -> str:
    """The most frequent of *types*, as a list in a sentence."""
    *others, last = [f"`{name}`" for name, _ in types.most_common(_MAX_NAMED_TYPES)]
    return f"{', '.join(others)}{conjunction}{last}" if others else last
