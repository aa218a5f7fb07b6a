"""Summaries of pages, read from the first bytes of each file and kept between looks."""

import os
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from mirrord.domain.entry import MAX_FILE_BYTES, Kind
from mirrord.domain.place import FOLDING
from mirrord.errors import Damaged, MirrordError
from mirrord.markdown.frontmatter.front_matter import EMPTY_FRONT_MATTER, FrontMatter
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.frontmatter.summary_keys import Head, head_of
from mirrord.markdown.logseq_names import property_lines
from mirrord.markdown.read.heading_lines import heading_lines
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import directory_of, spot_of_file

if TYPE_CHECKING:
    from mirrord.domain.search_query import Term


_PIECE_BYTES = 262_144  # nearly all pages are shorter
_MAX_HEAD_BYTES = 300_000  # the longest front matter that is read as YAML
_FENCE = re.compile(rb"[\r\n](?:---|\+\+\+|\.\.\.|\})[ \t]*[\r\n]")
_FENCE_SIGNS = (b"---", b"+++", b"{")


@dataclass(frozen=True, slots=True)
class PageSummary:
    """
    A page, or a folder without a page file, as lists show it.

    path: of the page's file, of the directory.
    position: an opaque key to sort siblings by, as text; None: after those that have one.
    claimed: the text of `id:`, a UUID or not.
    is_titled: whether the page gives itself its title; else it is the name.
    is_text: whether the file is UTF-8 without NUL; None: only its beginning was read.
    created, updated: the texts of these keys. binding: of an app's page, which is read only.
    headings: of the beginning that was read, one a line. properties: the lines `key:: value` before anything else,
    which a graph of Logseq has.
    """

    path: str
    kind: Kind
    title: str
    icon: str | None = None
    position: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    claimed: str | None = None
    is_text: bool | None = None
    is_titled: bool = False
    type: str | None = None
    source_type: str | None = None
    original: str | None = None
    created: str | None = None
    updated: str | None = None
    binding: str | None = None
    front_matter: FrontMatter = EMPTY_FRONT_MATTER
    headings: str = ""
    properties: str = ""


@dataclass(frozen=True, slots=True)
class CachedSummary:
    """A card with its stat; is_settled: the page is unchanged as long as the stat is."""

    summary: PageSummary
    stat: Stat
    is_settled: bool


@dataclass(frozen=True, slots=True)
class TextWithStat:
    """The text of a page, None if it is no text, with its stat; is_settled: as in CachedSummary."""

    text: str | None
    stat: Stat
    is_settled: bool


def read_page_text(tree: Tree, path: str) -> TextWithStat | None:
    """All of the page at *path* as it is right now; None if it is gone, too large, or changes while it is read."""
    began = time.time_ns()
    try:
        with tree.open_path(path, contained_files.FILE_FLAGS) as descriptor:
            data, stat = contained_files.read_now(descriptor, path, MAX_FILE_BYTES)
    except (OSError, MirrordError):
        return None
    try:
        text = decode(data)
    except Damaged:
        return TextWithStat(None, stat, stat.is_settled(began))
    return TextWithStat(text, stat, stat.is_settled(began))


def folder_summary(path: str) -> PageSummary:
    """The card of a directory without a page file."""
    return PageSummary(path, Kind.FOLDER, path.rpartition("/")[2])


def read_summary(directory: int, path: str) -> CachedSummary | None:
    """The card of the page at *path*, whose directory is open; None if no regular file is there."""
    began = time.time_ns()
    try:
        descriptor = os.open(path.rpartition("/")[2], contained_files.FILE_FLAGS | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    try:
        before = stat_of(os.fstat(descriptor))
        if not before.is_file:
            return None
        data = _read_beginning(descriptor, before.size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # A later write changes the stat: even a card of half a page lasts only until the next look
    return CachedSummary(summary_of(path, data, is_whole=len(data) >= before.size), before, before.is_settled(began))


def summary_of(path: str, data: bytes, *, is_whole: bool) -> PageSummary:
    """The card of a page; *data*: its bytes, or the first of them."""
    text = _decode_or_none(data, is_whole=is_whole)
    page = PageText(text or "")
    head = head_of(page) if text is not None else Head()
    title = head.title or _page_name(path)
    is_text = True if is_whole and text is not None else None if text is not None else False
    return PageSummary(
        path=path,
        kind=Kind.PAGE,
        title=title,
        icon=head.icon,
        position=head.position,
        tags=head.tags,
        aliases=head.aliases,
        claimed=head.id,
        is_text=is_text,
        is_titled=bool(head.title),
        type=head.type,
        source_type=head.source_type,
        original=head.original,
        created=head.created,
        updated=head.updated,
        binding=head.binding,
        front_matter=FrontMatter(page.source, page.form) if page.source else EMPTY_FRONT_MATTER,
        headings=heading_lines(page.body),
        properties=property_lines(page),
    )


def _page_name(path: str) -> str:
    spot = spot_of_file(path)
    return spot.name if spot is not None else path


def _decode_or_none(data: bytes, *, is_whole: bool) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if is_whole or error.start < len(data) - 3:
            return None
        return data[: error.start].decode()  # the piece ends within a character


def _read_beginning(descriptor: int, size_bytes: int) -> bytes:
    """The first piece; more if the front matter continues behind it."""
    data = os.read(descriptor, min(size_bytes, _PIECE_BYTES))
    if (
        len(data) == _PIECE_BYTES
        and data.lstrip(b"\xef\xbb\xbf").startswith(_FENCE_SIGNS)
        and not _FENCE.search(data, 3)
    ):
        while len(data) < _MAX_HEAD_BYTES and (piece := os.read(descriptor, _PIECE_BYTES)):
            data += piece
    return data


_NAME_SEPARATOR = "\x1f"  # no phrase of a search spans two names


class PageIndex:
    """Pages by path, in this order; immutable, so that derived values are computed once."""

    def __init__(self, cards: Mapping[str, PageSummary]) -> None:
        self.summaries = cards

    @cached_property
    def readable(self) -> Sequence[PageSummary]:
        """The cards of files that may be text."""
        return [card for card in self.summaries.values() if card.is_text is not False]

    @cached_property
    def maybe_binary(self) -> Sequence[PageSummary]:
        """The cards of files that may not be text."""
        return [card for card in self.summaries.values() if not card.is_text]

    @cached_property
    def titles(self) -> "JoinedTexts":
        """The titles of the readable pages."""
        return JoinedTexts(lambda: (card.title for card in self.readable))

    @cached_property
    def names(self) -> "JoinedTexts":
        """All names of the readable pages, tags included."""
        return JoinedTexts(lambda: map(_join_names, self.readable))

    @cached_property
    def headings(self) -> "JoinedTexts":
        """The headings of the readable pages."""
        return JoinedTexts(lambda: (card.headings.replace("\n", _NAME_SEPARATOR) for card in self.readable))


class JoinedTexts:
    """
    Texts joined into one: one search is fast where ten thousand would be slow.

    Kept in folded letters, each at its place, since letters fold to one letter each. texts: yields the same each time.
    """

    def __init__(self, texts: Callable[[], Iterable[str]]) -> None:
        self._texts = texts
        lines = _as_lines(texts())
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._folded = "\n".join(lines).translate(FOLDING)

    def indexes_of(self, term: "Term") -> set[int]:
        """The indexes of the texts that contain *term*, from 0."""
        if term.needles:
            return set().union(*map(self._indexes_of_needle, term.needles))
        joined = "\n".join(_as_lines(self._texts())) if term.case_sensitive else self._folded
        return {bisect_right(self._starts, match.start()) - 1 for match in term.pattern.finditer(joined)}

    def _indexes_of_needle(self, needle: str) -> set[int]:
        indexes, position = set(), self._folded.find(needle)
        while position >= 0:
            index = bisect_right(self._starts, position) - 1
            indexes.add(index)
            position = self._folded.find(needle, self._starts[index + 1])
        return indexes


def _as_lines(texts: Iterable[str]) -> list[str]:
    return [text.replace("\n", " ") for text in texts]


def _join_names(card: PageSummary) -> str:
    return _NAME_SEPARATOR.join(
        (card.title, directory_of(card.path, card.kind).rpartition("/")[2], *card.tags, *card.aliases)
    )
