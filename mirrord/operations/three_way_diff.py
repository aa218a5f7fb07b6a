"""Three texts for a person: what each side changed, and both in one text with marks. Pure."""

from collections.abc import Iterator
from difflib import unified_diff

from merge3 import Merge3

from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.markdown.frontmatter.page_text import first_line_ending, split_lines

ROW_MARK = "<<<<<<< as it is now"
MIDDLE_MARK = "======="
FILE_MARK = ">>>>>>> version in the file"

_FORMER_MARKS = ("<<<<<<< the row's text", ">>>>>>> the file's text")  # of texts that a person began to merge before

_NO_NEWLINE = "\\ No newline at end of file"


def diff_lines(before: str, after: str, name_before: str, name_after: str) -> list[str]:
    """A unified diff as lines without endings; [] for equal texts."""
    diff = []
    for number, line in enumerate(
        unified_diff(split_lines(before), split_lines(after), name_before, name_after, lineterm="")
    ):
        bare = line.rstrip("\r\n")
        diff.append(bare + line[len(bare) :].replace("\n", "").replace("\r", "␍"))
        if number > 1 and not line.startswith("@@") and bare == line:
            diff.append(_NO_NEWLINE)
    return diff


def mark_conflicts(base: str | None, file: str, row: str) -> str:
    """Both texts in one, with conflict markers where they differ; with a base, changes of one side alone are merged."""
    ending = first_line_ending(row)
    theirs, mine = (_lines_with_endings(text, ending) for text in (row, file))
    if base is None:
        return "".join(_mark_without_base(theirs, mine, ending))
    merged = Merge3(_lines_with_endings(base, ending), theirs, mine).merge_lines(
        start_marker=ROW_MARK, mid_marker=MIDDLE_MARK, end_marker=FILE_MARK, reprocess=True
    )
    return "".join(merged)


def _mark_without_base(theirs: list[str], mine: list[str], ending: str) -> Iterator[str]:
    for tag, start, end, start_mine, end_mine in find_opcodes(theirs, mine):
        if tag == "equal":
            yield from theirs[start:end]
        else:
            yield from (ROW_MARK + ending, *theirs[start:end], MIDDLE_MARK + ending)
            yield from (*mine[start_mine:end_mine], FILE_MARK + ending)


def has_markers(text: str) -> bool:
    """Whether a conflict marker of mirrord is left."""
    return any(line.rstrip("\r\n") in (ROW_MARK, FILE_MARK, *_FORMER_MARKS) for line in split_lines(text))


def _lines_with_endings(text: str, ending: str) -> list[str]:
    """The lines of *text*, the last one with an ending too, because a marker may follow it."""
    return [line if line.endswith(("\n", "\r")) else line + ending for line in split_lines(text)]
