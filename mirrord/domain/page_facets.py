"""Counts of what pages have in common: tags, folders, keys of front matter with their values."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MAX_FACETS = 10  # of each sort, the most frequent ones
MAX_KEYS = 8
MAX_VALUES = 4  # of one key
_MAX_CHARACTERS = 40  # of a name or value
_UNCOUNTED_KEYS = frozenset({"id", "title", "tags", "aliases", "icon", "position", "created", "updated"})


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What facets count of one page. folder: "" is the root."""

    folder: str
    tags: tuple[str, ...]
    properties: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class KeyFacet:
    """pages: the number of pages with the key. values: those that several pages have, with their numbers."""

    pages: int
    values: dict[str, int]


@dataclass(frozen=True, slots=True)
class Facets:
    """Numbers of pages by name, the most frequent names first, equal ones by name."""

    tags: dict[str, int]
    folders: dict[str, int]
    keys: dict[str, KeyFacet]


def count_facets(pages: Iterable[PageFacts]) -> Facets:
    """The facets of *pages*."""
    tags, folders, keys = Counter[str](), Counter[str](), Counter[str]()
    values: dict[str, Counter[str]] = {}
    for page in pages:
        tags.update(set(page.tags))
        folders[page.folder] += 1
        for key, value in page.properties.items():
            if key not in _UNCOUNTED_KEYS and value is not None:
                keys[key] += 1
                values.setdefault(key, Counter()).update(_texts_of(value))
    key_facets = {key: KeyFacet(count, _repeated(values[key])) for key, count in _most(keys, MAX_KEYS).items()}
    return Facets(_most(tags, MAX_FACETS), _most(folders, MAX_FACETS), key_facets)


def _texts_of(value: object) -> set[str]:
    items = value if isinstance(value, list) else [value]
    return {str(item) for item in items if isinstance(item, str | int | float) and len(str(item)) <= _MAX_CHARACTERS}


def _repeated(values: Counter[str]) -> dict[str, int]:
    return {value: count for value, count in _most(values, MAX_VALUES).items() if count > 1}


def _most(counts: Counter[str], limit: int) -> dict[str, int]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {name: count for name, count in ordered[:limit] if len(name) <= _MAX_CHARACTERS * 2}
