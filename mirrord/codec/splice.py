"""Splicing: putting changed blocks into a page so that every other byte stays.

All of the result is compared with what was wanted, read again wherever it may mean something else than before;
nothing leaves here unverified.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirrord.codec.block import Block, blocks_of
from mirrord.codec.blocks import Effort, Setting, rearranged
from mirrord.codec.cuts import Cut, Line, cut_page
from mirrord.codec.document import Document, Node, document
from mirrord.codec.gaps import Spacing
from mirrord.codec.increment import Reading, read_whole, reading_of, reread
from mirrord.codec.normal import difference, normal
from mirrord.codec.segments import outline
from mirrord.codec.style import Style, habit_of
from mirrord.codec.text import lines
from mirrord.errors import Damaged

_LADDERS = (  # each from the page as it was, then from what came of that: definitions may have changed
    ((Effort.TRUSTING, Spacing.AS_WAS), *((Effort.CAREFUL, spacing) for spacing in Spacing)),
    ((Effort.WHOLE, Spacing.SEPARATE),),
)


@dataclass(frozen=True, slots=True)
class _Page:
    """
    reading: of it with LF for every line ending. endings: of each line of the cut; "" of a last one without.
    habit: its usual style.
    """

    reading: Reading
    cut: Cut
    endings: Sequence[str]
    habit: Style


def spliced(body: str, wanted: Document, ending: str) -> str:
    """
    *body* with the blocks of *wanted*; unchanged ones keep their bytes and the gaps between them.

    So do unchanged items of lists, rows of tables, and blocks in quotes, callouts, footnotes and items.
    New lines end with *ending*.

    Raises:
        Damaged: Markdown cannot hold what is wanted, or not beside the blocks that stay.
    """
    page, after = _opened(body), _filled(wanted.get("content") or [])
    bare = normal({**wanted, "content": []})
    if bare.keys() != {"type"}:
        raise Damaged(f"the change would lose {difference(bare, document([]))}: a page has no place for it")
    if _mean_the_same([part.block for part in page.cut.parts], after):
        return body
    got: list[Block] = []
    for result in _attempts(page, after, ending):
        got = _read_back(page, result)
        if _mean_the_same(got, after):
            return result
    lost = difference(*(document([block.normal for block in blocks]) for blocks in (after, got)))
    raise Damaged(f"the change would lose {lost}: Markdown cannot hold it beside the blocks around it")


def _filled(content: Sequence[Node]) -> list[Block]:
    """The blocks of a document that are not empty."""
    return [block for block in blocks_of(content) if not block.is_empty]


def _mean_the_same(old: Sequence[Block], new: Sequence[Block]) -> bool:
    return len(old) == len(new) and all(map(Block.means, old, new))


def _opened(body: str) -> _Page:
    written = lines(body)
    texts = [line.rstrip("\r\n") for line in written]
    page = outline("\n".join(texts if written[-1:] == texts[-1:] else [*texts, ""]))
    reading = reading_of(page)
    cut = cut_page(texts, page, reading.blocks)
    habit = habit_of([token for part in cut.parts for token in part.tokens])
    return _Page(reading, cut, [line[len(text) :] for line, text in zip(written, texts, strict=True)], habit)


def _read_back(page: _Page, result: str) -> list[Block]:
    """The blocks of *result*; those that *page* has, too, are parsed again only where they may have become others."""
    read = reread(page.reading, result) or read_whole(result)
    return [block for block in read.blocks if not block.is_empty]


def _attempts(page: _Page, after: Sequence[Block], ending: str) -> Iterator[str]:
    """Pages that may be the wanted one, the likeliest first, none twice."""
    tried: set[str] = set()
    for ladder in _LADDERS:
        start, result = page, ""
        for _ in range(2):
            for effort, spacing in ladder:
                result = _arranged(start, after, effort, spacing, ending)
                if result not in tried:
                    tried.add(result)
                    yield result
            start = _opened(result)
            if len(start.cut.parts) != len(after):
                break


def _arranged(page: _Page, after: Sequence[Block], effort: Effort, spacing: Spacing, ending: str) -> str:
    setting = Setting(page.cut.references, page.habit, effort)
    result = rearranged(page.cut, after, setting, spacing)
    ended: list[str] = []
    for line in result:
        last = _ending(page, line, ending)
        if not line.text and last == "\n" and ended and ended[-1].endswith("\r"):
            last = "\r"  # else the two would be one line ending
        ended.append(line.text + last)
    if after and page.cut.parts and page.endings[-1] == "":
        ended[-1] = result[-1].text
    return "".join(ended)


def _ending(page: _Page, line: Line, ending: str) -> str:
    return (page.endings[line.at] if line.at is not None else "") or ending
