"""Three texts shown to a person: what each side changed, and both in one text with marks. Pure."""

from difflib import unified_diff

from merge3 import Merge3

from mirrord.codec.text import lines, newline

ROW_MARK = "<<<<<<< the row's text"
MIDDLE_MARK = "======="
FILE_MARK = ">>>>>>> the file's text"

_UNENDED = "\\ No newline at end of file"


def difference(before: str, after: str, name_before: str, name_after: str) -> list[str]:
    """A unified diff, line by line without endings; [] for equal texts."""
    found = []
    for number, line in enumerate(unified_diff(lines(before), lines(after), name_before, name_after, lineterm="")):
        bare = line.rstrip("\r\n")
        found.append(bare + line[len(bare) :].replace("\n", "").replace("\r", "␍"))
        if number > 1 and not line.startswith("@@") and bare == line:
            found.append(_UNENDED)
    return found


def marked(base: str | None, file: str, row: str) -> str:
    """Both texts in one, with conflict markers around what differs; changes of one side alone are taken."""
    ending = newline(row)
    old, theirs, mine = ([_ended(line, ending) for line in lines(text)] for text in (base or "", row, file))
    merged = Merge3(old, theirs, mine).merge_lines(
        start_marker=ROW_MARK, mid_marker=MIDDLE_MARK, end_marker=FILE_MARK, reprocess=True
    )
    return "".join(merged)


def is_marked(text: str) -> bool:
    """Whether a conflict marker of ours is left."""
    return any(line.rstrip("\r\n") in (ROW_MARK, FILE_MARK) for line in lines(text))


def _ended(line: str, ending: str) -> str:
    return line if line.endswith(("\n", "\r")) else line + ending
