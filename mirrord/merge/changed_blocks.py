"""The blocks in which two texts of a page differ, and the text with some of them. Pure."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mirrord.markdown.bounded_diff import find_opcodes

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT_MATTER = ("---", "...")


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """A passage of whole blocks that differs. number: from 1, in the order of the page. old, new: its texts."""

    number: int
    old: str
    new: str


def changed_blocks(old: str, new: str) -> list[ChangedBlock]:
    """Where *new* differs from *old*, in the order of the page."""
    passages = [(before, after) for before, after in _passages(old, new) if before != after]
    return [ChangedBlock(number, before, after) for number, (before, after) in enumerate(passages, start=1)]


def select_blocks(old: str, new: str, numbers: Collection[int]) -> str:
    """*old* with the changed blocks of these *numbers* only."""
    pieces, number = [], 0
    for before, after in _passages(old, new):
        number += before != after
        pieces.append(after if before == after or number in numbers else before)
    return "".join(pieces)


def _passages(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Both texts in pieces that belong together; equal pieces are equal."""
    before, after = _split_blocks(old), _split_blocks(new)
    for kind, start, end, new_start, new_end in find_opcodes(before, after):
        if kind != "replace" or end - start != new_end - new_start:
            yield "".join(before[start:end]), "".join(after[new_start:new_end])
            continue
        for index in range(end - start):  # as many blocks as before: each by itself
            yield before[start + index], after[new_start + index]


def _split_blocks(text: str) -> list[str]:
    """Front matter, fenced code, and what stands between blank lines; each with the blank lines after it."""
    blocks: list[str] = []
    lines: list[str] = []
    fence, is_ended = "", False
    for number, line in enumerate(text.splitlines(keepends=True)):
        stripped_line, had_front_matter = line.strip(), fence == _FRONT_MATTER[0]
        if number == 0 and stripped_line == _FRONT_MATTER[0]:
            fence = _FRONT_MATTER[0]
        elif fence:
            fence = "" if _ends_fence(fence, stripped_line) else fence
        elif stripped_line and is_ended:
            blocks.append("".join(lines))
            lines = []
            fence = _fence_of(line)
        elif match := _fence_of(line):
            fence = match
        is_ended = not fence and (had_front_matter or not stripped_line)
        lines.append(line)
    return [*blocks, "".join(lines)] if lines else blocks


def _fence_of(line: str) -> str:
    match = _FENCE.match(line)
    return match[1] if match is not None else ""


def _ends_fence(fence: str, stripped_line: str) -> bool:
    if fence == _FRONT_MATTER[0]:
        return stripped_line in _FRONT_MATTER
    return stripped_line.startswith(fence) and not stripped_line.strip(fence[0])
