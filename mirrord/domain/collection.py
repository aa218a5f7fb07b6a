"""Categories and collections: which pages belong together, and what names and descriptions they may have."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mirrord.domain.record import sort_of

LONGEST_DESCRIPTION = 500  # characters

_NAME = sort_of("collection/any").key  # a category's is the same
_QUOTES = re.compile("[\"']")
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Category:
    """
    Pages below a directory.

    directory: without a slash at its end; "" is the root. patterns: see globbing; none: all pages there.
    created: a moment as text, by which lists are sorted; None: nobody noted it.
    """

    name: str
    directory: str = ""
    patterns: tuple[str, ...] = ()
    description: str | None = None
    created: str | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """Categories in an order, by their names. created: as of a category."""

    name: str
    categories: tuple[str, ...] = ()
    description: str | None = None
    created: str | None = None


def is_name(name: str) -> bool:
    """Whether a category or collection can be called that."""
    return _NAME.fullmatch(name) is not None


def key_of(name: str) -> str:
    """Names with equal keys are one name."""
    return name.lower()


def once(values: Iterable[str], *, folded: bool = False) -> tuple[str, ...]:
    """Each of *values* where it first is. folded: names that differ in case only are one."""
    found: dict[str, str] = {}
    for value in values:
        found.setdefault(key_of(value) if folded else value, value)
    return tuple(found.values())


def quote_in(description: str) -> str | None:
    """The first single or double quote, which no description may have."""
    found = _QUOTES.search(description)
    return found.group() if found else None


def misfit_in(description: str) -> int | None:
    """Where the first character is that is none, or that only machines obey; None: there is none."""
    found = _NO_TEXT.search(description)
    return found.start() if found else None


def in_order(kept: Iterable[Category | Collection]) -> list[str]:
    """Names as lists show them: the oldest first, then those of which nobody knows how old they are."""
    return [
        one.name for one in sorted(kept, key=lambda one: (one.created is None, one.created or "", key_of(one.name)))
    ]
