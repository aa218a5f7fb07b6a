"""A block of a document, old or new, and whether it means what another one means."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import eq
from typing import TypeVar

import orjson

from mirrord.codec.document import BLOCKS, INLINE, Node, document
from mirrord.codec.ids import without_ids
from mirrord.codec.normal import fingerprint, normal, wrapped

T = TypeVar("T")

OPENING, CLOSING = orjson.dumps(document(())).split(b"]")[0], b"]}"  # of the JSON of a document
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_EMPTY: Node = {"type": "paragraph"}


@dataclass(slots=True, eq=False)
class _Meaning:
    """What all blocks that are known to mean the same share; None: nobody has asked for it yet."""

    node: Node | None = None
    text: str | None = None


@dataclass(slots=True)
class Block:
    """
    A block of a document or container; it does not change.

    nodes: its node, or a run of inline nodes that stands for a paragraph, as an image alone does.
    ids: those in it and below, once none is missing and none is there twice.
    """

    nodes: tuple[Node, ...]
    ids: tuple[str, ...] = ()
    _meaning: _Meaning = field(default_factory=_Meaning, compare=False, repr=False)
    _json: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def json(self) -> bytes:
        """
        What it adds to the JSON of a document, without NUL; kept, since most of a page stays as it is.

        Raises:
            orjson.JSONEncodeError: it is nested too deep for that.
        """
        if self._json is None:
            data = orjson.dumps(document(self.nodes))[len(OPENING) : -len(CLOSING)]
            self._json = without_nul(data)
        return self._json

    @property
    def normal(self) -> Node:
        """Its normal form; worked out when it is asked for, since that is most of the work."""
        if self._meaning.node is None:
            node = self.nodes[0]
            if len(self.nodes) != 1 or node["type"] in INLINE:
                node = {"type": "paragraph", "content": list(self.nodes)}
            self._meaning.node = normal(node)
        return self._meaning.node

    @property
    def meaning(self) -> str:
        """The fingerprint of its normal form."""
        if self._meaning.text is None:
            self._meaning.text = fingerprint(self.normal)
        return self._meaning.text

    def means(self, other: "Block") -> bool:
        """Whether both mean the same; the same JSON, and what was once found to, needs no normal form for that."""
        if self._meaning is other._meaning:
            return True
        if not self._is_like(other) and self.meaning != other.meaning:
            return False
        other._meaning = self._meaning
        return True

    def _is_like(self, other: "Block") -> bool:
        """Whether both are the same but for ids."""
        return self.nodes == other.nodes or without_ids(self.nodes) == without_ids(other.nodes)

    def carrying(self, nodes: tuple[Node, ...], ids: tuple[str, ...] = ()) -> "Block":
        """The same block with other ids in its *nodes*, which change nothing of what it means."""
        return Block(nodes, ids, self._meaning)

    @property
    def kind(self) -> str:
        """The type of the node that Markdown knows it as."""
        return self.nodes[0]["type"] if len(self.nodes) == 1 else "paragraph"

    @property
    def is_empty(self) -> bool:
        """Whether there is no Markdown for it: a paragraph of nothing, blanks or breaks."""
        if self._has_words() or (self.kind in BLOCKS and self.kind != "paragraph"):
            return False
        return self.normal == _EMPTY

    @property
    def is_blank(self) -> bool:
        """The same without breaks."""
        return self.is_empty and all("text" in child for child in self.nodes[0].get("content") or ())

    def _has_words(self) -> bool:
        children = self.nodes[0].get("content") or ()
        return any("text" in child and not child["text"].isspace() and child["text"] for child in children)


def without_nul(data: bytes) -> bytes:
    """JSON as `jsonb` takes it."""
    return _NUL.sub(rb"\1\\ufffd", data) if b"\\u0000" in data else data


def block_of(node: Node) -> Block:
    """The block of a *node* that is normal."""
    return Block((node,), (), _Meaning(node))


def blocks_of(content: Sequence[Node]) -> list[Block]:
    """The blocks of a document's or container's *content*."""
    found, start = [], 0
    for node in wrapped(content):
        count = 1 if node is content[start] else len(node["content"])
        found.append(Block(tuple(content[start : start + count])))
        start += count
    return found


def ends(old: Sequence[T], new: Sequence[T], same: Callable[[T, T], bool] = eq) -> tuple[int, int]:
    """How many of both are the *same* at the beginning, and how many others at the end."""
    most = min(len(old), len(new))
    start = next((k for k, found in enumerate(map(same, old, new)) if not found), most)
    backwards = map(same, reversed(old), reversed(new))
    end = next((k for k, found in enumerate(islice(backwards, most - start)) if not found), most - start)
    return start, end
