"""A body of HTML as a document, and an edit of that document as HTML in which only changed blocks differ. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from mirrord.binding.bodies.html_reading import Leaf, read_leaves
from mirrord.binding.bodies.html_tree import Child, Element, parse_tree
from mirrord.binding.bodies.html_writing import Attributes, HtmlStyle, html_of
from mirrord.errors import Damaged
from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.markdown.schema.document import Document, Node, make_document

_ADDRESSES = {"a": ("href", "title"), "img": ("src", "alt", "title")}  # attributes that a document has
_GIVEN_BY_NODES = frozenset(["start", "data-type"])


def document_of_html(text: str) -> Document:
    """
    The document that *text* shows.

    Raises:
        Damaged: it is nested too deep, has too many elements, or tables with rows of too different lengths.
    """
    return make_document([leaf.node for leaf in read_leaves(parse_tree(text).children, text)])


def html_with(former: str, document: Document) -> str:
    """
    The HTML *former* with the blocks of *document*; a block that it has stays as it is, and so does all between them.

    Raises:
        Damaged: a changed block has what a document does not hold, or HTML has no form for it.
    """
    tree = parse_tree(former)
    if not tree.is_sound:
        raise Damaged("its HTML has tags that do not fit, so that only the app can change it")
    leaves = read_leaves(tree.children, former)
    blocks = [node for node in document.get("content") or [] if node.get("content") or node["type"] != "paragraph"]
    return "".join(_Weaving(former, leaves, blocks, _style_of(tree.children)).parts())


def _style_of(children: Sequence[Child]) -> HtmlStyle:
    wraps, by_address = False, dict[tuple[str, str], Attributes]()
    for element in _elements_in(children):
        first = next((child for child in element.children if isinstance(child, Element)), None)
        wraps |= element.tag in ("li", "td", "th") and first is not None and first.tag == "p"
        if element.tag in _ADDRESSES:
            key, *_ = _ADDRESSES[element.tag]
            others = {name: value for name, value in element.attributes.items() if name not in _ADDRESSES[element.tag]}
            by_address.setdefault((element.tag, element.attributes.get(key, "")), others)
    return HtmlStyle(wraps, by_address)


def _elements_in(children: Sequence[Child]) -> Iterator[Element]:
    for child in children:
        if isinstance(child, Element):
            yield child
            yield from _elements_in(child.children)


def _key_of(node: Node) -> str:
    return orjson.dumps(node, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True)
class _Weaving:
    """New blocks among what is between the former ones."""

    former: str
    leaves: Sequence[Leaf]
    blocks: Sequence[Node]
    style: HtmlStyle

    def parts(self) -> Iterator[str]:
        """The new HTML in parts."""
        yield self.former[: self.leaves[0].start] if self.leaves else self.former
        old, new = [_key_of(leaf.node) for leaf in self.leaves], [_key_of(node) for node in self.blocks]
        for tag, start, end, new_start, new_end in find_opcodes(old, new):
            nodes = self.blocks[new_start:new_end]
            if tag == "equal":
                for at in range(start, end):
                    yield self._source(at) + self._gap(at)
            elif end - start == len(nodes):
                for at, node in zip(range(start, end), nodes, strict=True):
                    yield self._replaced(at, node) + self._gap(at)
            else:
                yield from self._exchanged(start, end, nodes)

    def _exchanged(self, start: int, end: int, nodes: Sequence[Node]) -> Iterator[str]:
        """Another number of blocks; none of which may have anything that a document does not hold."""
        if nodes:
            for at in range(start, end):
                self._check(at, with_attributes=True)
        moved = {_key_of(leaf.node): at for at, leaf in enumerate(self.leaves)}
        texts = [
            self._source(moved[key]) if (key := _key_of(node)) in moved else html_of(node, self.style) for node in nodes
        ]
        gaps = "".join(gap for at in range(start, end) if (gap := self._gap(at)).strip())
        last = start == len(self.leaves) == end
        before = self._separator if last and self.leaves and texts else ""
        yield before + "".join(text + self._separator for text in texts[:-1]) + "".join(texts[-1:])
        yield gaps or (
            "" if last else self._gap(end - 1) if end > start and texts else self._separator if texts else ""
        )

    def _replaced(self, at: int, node: Node) -> str:
        self._check(at)
        leaf = self.leaves[at]
        attributes = {key: value for key, value in leaf.attributes.items() if key not in _GIVEN_BY_NODES}
        return html_of(node, self.style, leaf.tag, attributes)

    def _check(self, at: int, *, with_attributes: bool = False) -> None:
        leaf = self.leaves[at]
        loss = leaf.loss
        if loss is None and with_attributes and leaf.attributes.keys() - _GIVEN_BY_NODES:
            loss = f"attributes of `<{leaf.tag}>`"
        if loss is not None:
            raise Damaged(f"a changed part of it has {loss}, which Markdown does not hold; change it in the app")

    def _source(self, at: int) -> str:
        return self.former[self.leaves[at].start : self.leaves[at].end]

    def _gap(self, at: int) -> str:
        """What is between a block and the next one."""
        end = self.leaves[at + 1].start if at + 1 < len(self.leaves) else len(self.former)
        return self.former[self.leaves[at].end : end]

    @property
    def _separator(self) -> str:
        """What separates new blocks: a line end where the app has one."""
        return "\n" if any("\n" in self._gap(at) for at in range(len(self.leaves) - 1)) else ""
