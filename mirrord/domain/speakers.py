"""
Detect the speakers of a transcript and their turns: `Ana: …`, `[Ana] …` or `{Ana} …` at the beginning of a line.

A label alone proves little: "Note:" and "Ingredients:" look the same. So it must be a possible name and be repeated,
and the text as a whole must read as speech, with questions, "I" and "you".
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from mirrord.domain.calling import is_nickname, is_role
from mirrord.domain.place import name_key
from mirrord.domain.transcript import Detection, Format, Turn
from mirrord.domain.turns import Label, Layout, find_labels, layout_of, span_of_speech

MAX_SHORT_TURNS = 12  # turns; in a text with at most this many, names that occur once count
_MIN_SPOKEN_SHARE = 0.15  # share of the turns that must read as speech
_MIN_SPOKEN_SHARE_OF_NICKNAMES = 0.25  # the same if all names are nicknames
_MIN_ROLE_SHARE = 0.25  # share of turns by roles from which on no more proof is needed
_MIN_PERSONAL_SHARE = 0.1  # share of the turns that must ask or use the first or second person
_MIN_PERSONAL_SHARE_ALONE = 0.4  # the same for a single speaker
_MIN_TURNS_ALONE = 3  # least number of turns of a single speaker
_MIN_COVERAGE = 0.25  # share of the lines after the first turn that must belong to turns
_MIN_COVERAGE_BY_ROLES = 0.08  # the same if roles speak: an interviewer's questions may be far apart
_MIN_SINGLE_ROLES = 2  # names that occur once and are roles, needed in a text without repeated names


def find_speakers(text: str, format: Format = Format.AUTO) -> Detection:
    """
    The speakers of *text*, and their turns.

    A given format means that the text is a transcript; with AUTO the text has to show it.
    """
    layout = layout_of(text)
    formats = [format] if format is not Format.AUTO else [Format.COLON, Format.BRACKET, Format.BRACE]
    labels_by_format = {
        label_format: _select_labels(find_labels(layout, label_format.value)) for label_format in formats
    }
    if format is Format.AUTO:
        labels_by_format = {
            label_format: format_labels
            for label_format, format_labels in labels_by_format.items()
            if _is_talk(layout, format_labels, label_format)
        }
    best = max(labels_by_format, key=lambda label_format: len(labels_by_format[label_format]), default=Format.COLON)
    turns = [Turn(name, *span) for name, span in _turns_with_speakers(layout, labels_by_format.get(best, []))]
    counts = Counter(turn.name for turn in turns)
    used = best if turns or format is not Format.AUTO else None
    return Detection(used, tuple(counts), dict(counts), tuple(turns))


def _turns_with_speakers(layout: Layout, turn_labels: Sequence[Label]) -> list[tuple[str, tuple[int, int]]]:
    """Each turn with its speaker, spelled as in the speaker's first turn."""
    spellings: dict[str, str] = {}
    for label in turn_labels:
        spellings.setdefault(_key_of(label), label.name)
    ends = [*(label.line for label in turn_labels[1:]), len(layout.lines)]
    return [
        (spellings[_key_of(label)], span_of_speech(layout, label, end))
        for label, end in zip(turn_labels, ends, strict=False)
    ]


def _is_talk(layout: Layout, turn_labels: Sequence[Label], format: Format) -> bool:
    """Whether these labels begin speech that makes up enough of the text."""
    if not turn_labels or _coverage_of(layout, turn_labels) < (
        _MIN_COVERAGE_BY_ROLES if _are_roles(turn_labels) else _MIN_COVERAGE
    ):
        return False
    is_chat = all(is_nickname(label.name) for label in turn_labels)
    if _share_of(label.is_spoken for label in turn_labels) < (
        _MIN_SPOKEN_SHARE_OF_NICKNAMES if is_chat else _MIN_SPOKEN_SHARE
    ):
        return False
    return format is not Format.COLON or _are_roles(turn_labels) or not _is_form(turn_labels)


def _are_roles(turn_labels: Sequence[Label]) -> bool:
    return _share_of(is_role(label.name) for label in turn_labels) >= _MIN_ROLE_SHARE


def _is_form(turn_labels: Sequence[Label]) -> bool:
    """Whether these labels are headings of a form, not speakers: nothing is personal, or their order is fixed."""
    names = {_key_of(label) for label in turn_labels}
    personal = _share_of(label.is_personal for label in turn_labels)
    if len(names) == 1:
        return len(turn_labels) < _MIN_TURNS_ALONE or personal < _MIN_PERSONAL_SHARE_ALONE
    if personal < _MIN_PERSONAL_SHARE:
        return True
    successions = {(_key_of(label), _key_of(next_label)) for label, next_label in pairwise(turn_labels)}
    return 2 < len(names) < len(turn_labels) - 1 and len(successions) <= len(names)


def _select_labels(possible_labels: Sequence[Label]) -> list[Label]:
    """The labels of repeated names; in a short text also those of names that occur once, after the first of them."""
    counts = Counter(map(_key_of, possible_labels))
    repeated = [label for label in possible_labels if counts[_key_of(label)] > 1]
    single = [label for label in possible_labels if counts[_key_of(label)] == 1]
    if len(possible_labels) > MAX_SHORT_TURNS or (
        not repeated and sum(is_role(label.name) for label in single) < _MIN_SINGLE_ROLES
    ):
        return repeated
    first_line = repeated[0].line if repeated else 0
    return [
        label
        for label in possible_labels
        if counts[_key_of(label)] > 1 or label.line > first_line or is_role(label.name)
    ]


def _coverage_of(layout: Layout, turn_labels: Sequence[Label]) -> float:
    """The share of the text after the first turn that belongs to turns; further lines of paragraphs count a fourth."""
    lines = {label.line for label in turn_labels}
    paragraphs, further_lines = 0, 0
    for number in range(turn_labels[0].line, len(layout.lines)):
        line = layout.lines[number]
        if number in lines or line.is_aside:
            continue
        if line.begins:
            paragraphs += 1
        else:
            further_lines += 1
    return len(turn_labels) / (len(turn_labels) + paragraphs + further_lines / 4)


def _key_of(label: Label) -> str:
    return name_key(label.name)


def _share_of(claims: Iterable[bool]) -> float:
    claim_list = list(claims)
    return sum(claim_list) / len(claim_list) if claim_list else 0.0
