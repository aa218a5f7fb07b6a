"""Near matches for mistyped paths."""

import difflib
import heapq
from collections.abc import Iterable

from mirrord.domain.place import name_key
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, name_of

_MAX_RESULTS = 3
_MAX_COMPARED = 30  # paths, those with the most shared letter pairs: an exact comparison is slow
_MIN_LIKENESS = 0.5


def similar_paths(path: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Up to three of *paths* that resemble *path*, the most similar first."""
    wanted_path = _plain_path(path)
    pairs = _letter_pairs(wanted_path)
    likely_paths = heapq.nlargest(
        _MAX_COMPARED,
        ((_shared_fraction(pairs, _letter_pairs(_plain_path(candidate))), candidate) for candidate in paths),
    )
    scored_paths = sorted((-_likeness(wanted_path, _plain_path(candidate)), candidate) for _, candidate in likely_paths)
    return tuple(candidate for score, candidate in scored_paths[:_MAX_RESULTS] if -score >= _MIN_LIKENESS)


def _plain_path(path: str) -> str:
    return name_key(path.removesuffix("/" + INDEX_FILE).removesuffix(SUFFIX))


def _letter_pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)}


def _shared_fraction(first: set[str], second: set[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second) or 1)


def _likeness(first: str, second: str) -> float:
    """Likeness of the whole paths or of the names alone: a caller may know only the name."""
    pairs = (first, second), (name_of(first), name_of(second))
    return max(difflib.SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)
