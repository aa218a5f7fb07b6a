"""Summaries of pages that readers keep between two looks, read from the first bytes of the files."""

import os
import re
import time
from dataclasses import dataclass

from mirrord.codec.heads import Head, head_of
from mirrord.codec.text import decode
from mirrord.domain.entry import Kind
from mirrord.errors import Damaged, MirrordError
from mirrord.mirror import contained, contents
from mirrord.mirror.kernel import Stat, stat_of
from mirrord.mirror.layout import spot_of_file
from mirrord.mirror.tree import Tree

MAX_PAGE_BYTES = 50 << 20  # bytes of one page; larger ones are not synced
_PIECE_BYTES = 262_144  # nearly all pages are shorter
_MAX_HEAD_BYTES = 300_000  # the longest front matter that is read as YAML
_FENCE = re.compile(rb"[\r\n]---[ \t]*[\r\n]")


@dataclass(frozen=True, slots=True)
class PageSummary:
    """
    A page, or a folder without a page file, as lists show it.

    path: of the page's file, of the directory.
    position: an opaque key to sort siblings by, as text; None: after those that have one.
    claimed: the text of `id:`, a UUID or not.
    is_titled: whether the page gives itself its title; else it is the name.
    is_text: whether the file is UTF-8 without NUL; None: only its beginning was read.
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


@dataclass(frozen=True, slots=True)
class CachedSummary:
    """A card with its stat; is_settled: the page is unchanged as long as the stat is."""

    summary: PageSummary
    stat: Stat
    is_settled: bool


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page, None if it is no text, with its stat; is_settled: as in Reading."""

    text: str | None
    stat: Stat
    is_settled: bool


def read_page_text(tree: Tree, path: str) -> PageText | None:
    """All of the page at *path* as it is right now; None if it is gone, too large, or changes while it is read."""
    began = time.time_ns()
    try:
        with tree.open_path(path, contained.FILE_FLAGS) as descriptor:
            data, stat = contents.read_now(descriptor, path, MAX_PAGE_BYTES)
    except (OSError, MirrordError):
        return None
    try:
        text = decode(data)
    except Damaged:
        return PageText(None, stat, stat.is_settled(began))
    return PageText(text, stat, stat.is_settled(began))


def folder_summary(path: str) -> PageSummary:
    """The card of a directory without a page file."""
    return PageSummary(path, Kind.FOLDER, path.rpartition("/")[2])


def read_summary(directory: int, path: str) -> CachedSummary | None:
    """The card of the page at *path*, whose directory is open; None if no regular file is there."""
    began = time.time_ns()
    try:
        descriptor = os.open(path.rpartition("/")[2], contained.FILE_FLAGS | os.O_CLOEXEC, dir_fd=directory)
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
    head = head_of(text) if text is not None else Head()
    title = head.title or _page_name(path)
    is_text = True if is_whole and text is not None else None if text is not None else False
    return PageSummary(
        *(path, Kind.PAGE, title, head.icon, head.position, head.tags, head.aliases, head.id, is_text),
        bool(head.title),
        *(head.type, head.source_type, head.original, head.created),
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
    if len(data) == _PIECE_BYTES and data.lstrip(b"\xef\xbb\xbf").startswith(b"---") and not _FENCE.search(data, 3):
        while len(data) < _MAX_HEAD_BYTES and (piece := os.read(descriptor, _PIECE_BYTES)):
            data += piece
    return data
