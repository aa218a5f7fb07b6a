"""Items that go from one list to another inside the same list: their lines, which go along."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mirrord.errors import Damaged
from mirrord.markdown.schema.block import Block
from mirrord.markdown.schema.document import BLOCKS, Node
from mirrord.markdown.schema.normal_form import fingerprint
from mirrord.markdown.write.block_parts import Line, SplitLines, split_into_blocks, split_into_items
from mirrord.markdown.write.block_writer import MARKERS_OF_LISTS
from mirrord.markdown.write.line_prefixes import Marker, frame_of_item, marker_of

_MAX_DEPTH = 16  # of lists: each level costs one more reading


@dataclass(frozen=True, slots=True)
class ItemLines:
    """An item taken apart. inner: its lines without marker, box and indent."""

    marker: Marker
    inner: Sequence[str]

    def below(self, marker: Marker) -> list[Line]:
        """The lines of the item with another marker."""
        return frame_of_item([], marker).wrap_content([Line(text) for text in self.inner])


class MovedItems:
    """The items of an old list at any depth. Its lines are read only if one like that which is asked for was there."""

    def __init__(self, cut: SplitLines) -> None:
        """*cut*: into the items of the list."""
        self._cut = cut
        self._read_items: dict[int, Mapping[str, ItemLines]] = {}

    @cached_property
    def _parts_by_fingerprint(self) -> Mapping[str, int]:
        """The last item that is, or holds, a block or an item with that fingerprint; no line is read for it."""
        parts = enumerate(self._cut.parts)
        return {meaning: number for number, part in parts for meaning in _fingerprints_in(part.node)}

    def _items_near(self, meaning: str) -> Mapping[str, ItemLines]:
        """The item of the list that is or holds something with that *meaning*, and the items in it, by fingerprint."""
        number = self._parts_by_fingerprint.get(meaning)
        if number is None:
            return {}
        if number not in self._read_items:
            self._read_items[number] = dict(
                _items_in(replace(self._cut, parts=self._cut.parts[number : number + 1]), 0)
            )
        return self._read_items[number]

    def find(self, item: Node) -> ItemLines | None:
        """The lines that such an item has in the old list; None: there is none like it."""
        key = fingerprint(item)
        return self._items_near(key).get(key)

    def lines_of(self, block: Block) -> list[Line]:
        """The lines that such a block has in an item of the old list; empty if none has one."""
        for item in self._items_near(block.fingerprint).values():
            cut = split_into_blocks(item.inner, self._cut.surroundings)
            for part in cut.parts:
                if part.block.fingerprint == block.fingerprint:
                    return [Line(line) for line in cut.lines[part.start : part.end]]
        return []

    def lines_of_list(self, node: Node) -> list[Line]:
        """The lines of a new list of such items; empty if some of its items are new, or numbered."""
        items = [self.find(item) for item in node.get("content", [])]
        if node["type"] == "orderedList" or not items:
            return []
        lines: list[Line] = []
        for item in items:
            if item is None or items[0] is None or item.marker.sign != items[0].marker.sign:
                return []
            lines += item.below(Marker("", item.marker.sign, item.marker.space, item.marker.box))
        return lines


def _fingerprints_in(node: Node) -> Iterator[str]:
    """Those of a block or item, and of the blocks and items in it."""
    yield fingerprint(node)
    for child in node.get("content", []):
        if child["type"] in BLOCKS:
            yield from _fingerprints_in(child)


def count_items(node: Node) -> int:
    """The number of items in a list, those in its items included."""
    inside = node.get("content", [])
    return sum((child["type"] in ("listItem", "taskItem")) + count_items(child) for child in inside)


def _items_in(cut: SplitLines, depth: int) -> Iterator[tuple[str, ItemLines]]:
    for part in cut.parts:
        lines = cut.lines[part.start : part.end]
        try:
            marker = marker_of(lines[0], task=part.node["type"] == "taskItem")
        except Damaged:
            continue
        inner = frame_of_item(lines, marker).inner
        yield part.block.fingerprint, ItemLines(marker, inner)
        if depth < _MAX_DEPTH and len(inner) > 1:
            yield from _items_in_blocks(split_into_blocks(inner, cut.surroundings), depth + 1)


def _items_in_blocks(cut: SplitLines, depth: int) -> Iterator[tuple[str, ItemLines]]:
    for part in cut.parts:
        if part.block.kind in MARKERS_OF_LISTS and part.tokens:
            try:
                items = split_into_items(cut, part)
            except Damaged:
                continue
            yield from _items_in(items, depth)
