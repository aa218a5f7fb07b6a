"""Categories and collections of pages, and the rules for their names and descriptions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mirrord.domain.record import sort_of

MAX_DESCRIPTION_CHARACTERS = 500  # characters

_NAME = sort_of("collection/any").key  # a category's is the same
_QUOTES = re.compile("[\"']")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Category:
    """
    Pages below a directory.

    directory: without a slash at its end; "" is the root. patterns: see globbing; empty: all pages there.
    created: a moment as text, by which lists are sorted; None: not recorded.
    """

    name: str
    directory: str = ""
    patterns: tuple[str, ...] = ()
    description: str | None = None
    created: str | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """An ordered list of categories, by name. created: as in Category."""

    name: str
    categories: tuple[str, ...] = ()
    description: str | None = None
    created: str | None = None


def is_valid_name(name: str) -> bool:
    """Whether *name* is valid for a category or collection."""
    return _NAME.fullmatch(name) is not None


def key_of(name: str) -> str:
    """The key of a name: names with equal keys are the same."""
    return name.lower()


def distinct_values(values: Iterable[str], *, folded: bool = False) -> tuple[str, ...]:
    """The distinct *values* in the order of their first occurrence. folded: ignore case."""
    first_by_key: dict[str, str] = {}
    for value in values:
        first_by_key.setdefault(key_of(value) if folded else value, value)
    return tuple(first_by_key.values())


def find_quote(description: str) -> str | None:
    """The first single or double quote in a description, where none is allowed; None if there is none."""
    match = _QUOTES.search(description)
    return match.group() if match else None


def find_control_character(description: str) -> int | None:
    """The position of the first control character or noncharacter; None if there is none."""
    match = _NOT_TEXT.search(description)
    return match.start() if match else None


def sorted_names(entries: Iterable[Category | Collection]) -> list[str]:
    """Names in the order of lists: the oldest first, those without a known age last."""
    return [
        entry.name
        for entry in sorted(entries, key=lambda entry: (entry.created is None, entry.created or "", key_of(entry.name)))
    ]
