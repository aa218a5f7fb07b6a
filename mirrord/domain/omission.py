"""What is left out of long work on many paths, and why: work goes on, and a person reads the list afterwards."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Omission:
    """path: printable. sentence: why, and what helps."""

    path: str
    sentence: str
