"""Which paths somebody may have meant who wrote another."""

import difflib
import heapq
from collections.abc import Iterable

from mirrord.domain.place import name_key
from mirrord.mirror.layout import INDEX_FILE, SUFFIX

_SHOWN = 3
_COMPARED = 30  # of all paths those that share most pairs of letters: comparing two texts well is slow
_LIKE = 0.5


def nearest(path: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Up to three of *paths* that are like *path*, the likest first."""
    meant = _plain(path)
    pairs = _pairs(meant)
    likely = heapq.nlargest(_COMPARED, ((_shared(pairs, _pairs(_plain(one))), one) for one in paths))
    scored = sorted((-_likeness(meant, _plain(one)), one) for _, one in likely)
    return tuple(one for score, one in scored[:_SHOWN] if -score >= _LIKE)


def _plain(path: str) -> str:
    return name_key(path.removesuffix("/" + INDEX_FILE).removesuffix(SUFFIX))


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)}


def _shared(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other) or 1)


def _likeness(one: str, other: str) -> float:
    """Of the whole paths or of the names alone: somebody may know the name, and not where it is."""
    pairs = (one, other), (_last(one), _last(other))
    return max(difflib.SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)
