"""PURE: the speakers found in a transcript, how often and where."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Format(StrEnum):
    """The marks of speakers."""

    AUTO = "auto"
    COLON = "colon"
    BRACKET = "bracket"
    BRACE = "brace"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a speaker: `text[start:end]`, without the name, blanks trimmed."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Detection:
    """
    The result for one text.

    format_used: the requested one, else the one with the most turns; None: there are no speakers.
    speakers: in the order of their first turns, spelled as there. occurrences: the number of turns of each.
    """

    format_used: Format | None
    speakers: tuple[str, ...]
    occurrences: Mapping[str, int]
    turns: tuple[Turn, ...]
