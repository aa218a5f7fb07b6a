"""The programs that pages are also written for, and what shows them in a tree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from mirrord.errors import UserError

AUTOMATIC = "auto"  # the setting: as the tree shows it


class Dialect(Enum):
    """A program that reads the pages of a tree, with a syntax of its own; PLAIN: none that mirrord knows."""

    PLAIN = "plain"
    OBSIDIAN = "obsidian"
    LOGSEQ = "logseq"
    MKDOCS = "mkdocs"
    JEKYLL = "jekyll"
    HUGO = "hugo"
    DOCUSAURUS = "docusaurus"
    ASTRO = "astro"
    MYST = "myst"


@dataclass(frozen=True, slots=True)
class DayFormats:
    """How a graph of Logseq calls days. title: of pages, in links. file: of their files, without ending."""

    title: str = "MMM do, yyyy"
    file: str = "yyyy_MM_dd"


USUAL_DAYS = DayFormats()  # with which Logseq begins


class TenantDialect(NamedTuple):
    """The dialect of a tenant's pages. days: how they are called in a graph of Logseq."""

    dialect: Dialect = Dialect.PLAIN
    days: DayFormats = USUAL_DAYS


RULES_OF_LINKS = frozenset({Dialect.OBSIDIAN, Dialect.LOGSEQ})  # the dialects with rules of their own for links

# Names at the root of a tree, the surest first. A trailing slash: a directory.
SIGNS: Mapping[str, Dialect] = MappingProxyType(
    {
        "logseq/config.edn": Dialect.LOGSEQ,
        "mkdocs.yml": Dialect.MKDOCS,
        "mkdocs.yaml": Dialect.MKDOCS,
        "hugo.toml": Dialect.HUGO,
        "hugo.yaml": Dialect.HUGO,
        "hugo.json": Dialect.HUGO,
        **{f"docusaurus.config.{ending}": Dialect.DOCUSAURUS for ending in ("js", "ts", "mjs", "cjs")},
        **{f"astro.config.{ending}": Dialect.ASTRO for ending in ("mjs", "js", "ts", "cjs", "mts")},
        "myst.yml": Dialect.MYST,
        "_toc.yml": Dialect.MYST,  # of a book of Jupyter, which has a _config.yml, too
        "_config.yml": Dialect.JEKYLL,
        "_config.yaml": Dialect.JEKYLL,
        "conf.py": Dialect.MYST,  # of Sphinx
        "logseq": Dialect.LOGSEQ,
        ".obsidian": Dialect.OBSIDIAN,
    }
)
WORDS_IN_SIGNS: Mapping[str, bytes] = MappingProxyType({"conf.py": b"myst"})  # which these have to hold


def find_dialect(has_path: Callable[[str], bool]) -> Dialect:
    """
    The dialect of a tree.

    has_path: whether it has a file or directory with that path, and in it the word of WORDS_IN_SIGNS.
    """
    return next((dialect for path, dialect in SIGNS.items() if has_path(path)), Dialect.PLAIN)


def dialect_called(name: object) -> Dialect:
    """The dialect with that name; PLAIN if this version knows none that has it."""
    return next((dialect for dialect in Dialect if dialect.value == name), Dialect.PLAIN)


def parse_dialect(written: str) -> Dialect | None:
    """
    The dialect that a setting names; None: the one that the tree shows.

    Raises:
        UserError: it names none.
    """
    if written == AUTOMATIC:
        return None
    try:
        return Dialect(written)
    except ValueError:
        names = ", ".join([AUTOMATIC, *(dialect.value for dialect in Dialect)])
        raise UserError(f"markdown.dialect is {written!r}; write one of {names}.") from None
