"""
Who speaks in a transcript, and where: `Ana: …`, `[Ana] …` or `{Ana} …` at the beginning of a line.

A label alone proves little: "Note:" and "Ingredients:" look the same. So it has to be a possible name and to come
again, and the text as a whole has to be one in which people speak: which ask, and say "I" and "you".
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from mirrord.domain.calling import is_nickname, is_role
from mirrord.domain.place import name_key
from mirrord.domain.transcript import Detection, Format, Turn
from mirrord.domain.turns import Label, Layout, labels, layout_of, speech

SHORT = 12  # turns up to which a name counts that comes only once
_SPOKEN = 0.15  # of the turns, at least, say something
_CHATTED = 0.25  # of the turns, where names are nicknames
_ROLES = 0.25  # of the turns, at least, where no more has to be shown: roles speak
_PERSONAL = 0.1  # of the turns, at least, ask or speak of persons that are there
_CONFIDED = 0.4  # where one speaks alone
_ALONE = 3  # turns, at least, of who speaks alone
_COVERED = 0.25  # of the lines after the first turn, at least, belong to one
_COVERED_BY_ROLES = 0.08  # where roles speak: an interviewer's questions may be far apart
_PROVEN = 2  # names that come once and are roles, or the like, in a text in which no name comes again


def detect(text: str, format: Format = Format.AUTO) -> Detection:
    """
    The speakers of *text*, and their turns.

    Who asks for one format says that this is a transcript; else the text has to show it.
    """
    layout = layout_of(text)
    asked = [format] if format is not Format.AUTO else [Format.COLON, Format.BRACKET, Format.BRACE]
    found = {one: _counting(labels(layout, one.value)) for one in asked}
    if format is Format.AUTO:
        found = {one: kept for one, kept in found.items() if _is_talk(layout, kept, one)}
    best = max(found, key=lambda one: len(found[one]), default=Format.COLON)
    turns = [Turn(name, *span) for name, span in _named(layout, found.get(best, []))]
    counts = Counter(turn.name for turn in turns)
    used = best if turns or format is not Format.AUTO else None
    return Detection(used, tuple(counts), dict(counts), tuple(turns))


def _named(layout: Layout, found: Sequence[Label]) -> list[tuple[str, tuple[int, int]]]:
    """Each turn with its speaker, as that name was spelled first."""
    first: dict[str, str] = {}
    for label in found:
        first.setdefault(_key(label), label.name)
    ends = [*(label.line for label in found[1:]), len(layout.lines)]
    return [(first[_key(label)], speech(layout, label, end)) for label, end in zip(found, ends, strict=False)]


def _is_talk(layout: Layout, kept: Sequence[Label], format: Format) -> bool:
    """Whether people speak at these labels, and the text is about that."""
    if not kept or _coverage(layout, kept) < (_COVERED_BY_ROLES if _are_roles(kept) else _COVERED):
        return False
    is_chat = all(is_nickname(label.name) for label in kept)
    if _share(label.is_spoken for label in kept) < (_CHATTED if is_chat else _SPOKEN):
        return False
    return format is not Format.COLON or _are_roles(kept) or not _is_form(kept)


def _are_roles(kept: Sequence[Label]) -> bool:
    return _share(is_role(label.name) for label in kept) >= _ROLES


def _is_form(kept: Sequence[Label]) -> bool:
    """Whether these are heads of what is said rather than of who says it: no person is in it, or all in one order."""
    names = {_key(label) for label in kept}
    personal = _share(label.is_personal for label in kept)
    if len(names) == 1:
        return len(kept) < _ALONE or personal < _CONFIDED
    if personal < _PERSONAL:
        return True
    follow = {(_key(one), _key(other)) for one, other in pairwise(kept)}
    return 2 < len(names) < len(kept) - 1 and len(follow) <= len(names)


def _counting(found: Sequence[Label]) -> list[Label]:
    """Names that come again; in a short text also those that come once, after the first of them."""
    counts = Counter(map(_key, found))
    again = [label for label in found if counts[_key(label)] > 1]
    once = [label for label in found if counts[_key(label)] == 1]
    if len(found) > SHORT or (not again and sum(is_role(label.name) for label in once) < _PROVEN):
        return again
    begin = again[0].line if again else 0
    return [label for label in found if counts[_key(label)] > 1 or label.line > begin or is_role(label.name)]


def _coverage(layout: Layout, kept: Sequence[Label]) -> float:
    """How much of the text after the first turn belongs to turns: a paragraph counts as four of its further lines."""
    lines = {label.line for label in kept}
    starts, rest = 0, 0
    for number in range(kept[0].line, len(layout.lines)):
        line = layout.lines[number]
        if number in lines or line.is_aside:
            continue
        if line.begins:
            starts += 1
        else:
            rest += 1
    return len(kept) / (len(kept) + starts + rest / 4)


def _key(label: Label) -> str:
    return name_key(label.name)


def _share(claims: Iterable[bool]) -> float:
    listed = list(claims)
    return sum(listed) / len(listed) if listed else 0.0
