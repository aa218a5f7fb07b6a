"""Paths that long work on many paths leaves out: work continues, and a person reads the list afterwards."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Omission:
    """An omitted path. path: printable. sentence: the reason and the remedy."""

    path: str
    sentence: str
