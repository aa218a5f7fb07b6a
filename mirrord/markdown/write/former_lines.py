"""
How an earlier text of a page spelled the blocks that it had and a later text has not.

An undo in an editor brings a deleted block back as a document, which says nothing about its spelling.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import PageText, with_unix_endings
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.write.block_parts import split_into_blocks


def former_lines(texts: Sequence[str], dialect: Dialect = Dialect.PLAIN) -> Mapping[str, Sequence[str]]:
    """
    The lines of blocks that left the page, by fingerprint; those that left it last count.

    texts: the page and its earlier versions, the newest first.
    """
    bodies = [with_unix_endings(PageText(text).body).split("\n") for text in texts]
    lines_by_fingerprint: dict[str, Sequence[str]] = {}
    for later, earlier in pairwise(bodies):
        for fingerprint, lines in _blocks_only_in(earlier, later, Surroundings(dialect=dialect)):
            lines_by_fingerprint.setdefault(fingerprint, lines)
    return lines_by_fingerprint


def _blocks_only_in(
    lines: Sequence[str], others: Sequence[str], surroundings: Surroundings
) -> Iterator[tuple[str, Sequence[str]]]:
    """Fingerprints and lines of the blocks around the place where *lines* differ from *others*."""
    shorter = min(len(lines), len(others))
    start = next((at for at in range(shorter) if lines[at] != others[at]), shorter)
    end = next((at for at in range(shorter - start) if lines[-1 - at] != others[-1 - at]), shorter - start)
    if start + end == len(lines):
        return
    cut = split_into_blocks(_to_blank_lines(lines, start, len(lines) - end), surroundings)
    for index, part in enumerate(cut.parts):
        yield part.block.fingerprint, [line.text for line in cut.lines_of_part(index)]


def _to_blank_lines(lines: Sequence[str], start: int, end: int) -> Sequence[str]:
    """The *lines* from *start* to *end*, and those beside them up to the next blank ones."""
    while start > 0 and lines[start - 1].strip():
        start -= 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return lines[start:end]
