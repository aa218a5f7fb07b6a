"""What a transcript shows: who speaks, how often, and where."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Format(StrEnum):
    """How speakers are marked."""

    AUTO = "auto"
    COLON = "colon"
    BRACKET = "bracket"
    BRACE = "brace"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says at once: `text[start:end]`, without the name, blanks trimmed."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Detection:
    """
    What a text shows.

    format_used: the one asked for, else the one with the most turns; None: nobody speaks.
    speakers: in the order of their first turns, as first spelled. occurrences: turns of each.
    """

    format_used: Format | None
    speakers: tuple[str, ...]
    occurrences: Mapping[str, int]
    turns: tuple[Turn, ...]
