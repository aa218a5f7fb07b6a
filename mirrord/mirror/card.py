"""What readers keep of a page between two looks, and the reading of it from the first bytes of its file."""

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

LIMIT = 50 << 20  # bytes of one page; larger ones are not synced
_PIECE = 262_144  # bytes: nearly all pages are shorter
_HEAD = 300_000  # bytes that the longest front matter YAML is read of can take
_FENCE = re.compile(rb"[\r\n]---[ \t]*[\r\n]")


@dataclass(frozen=True, slots=True)
class Card:
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
class Reading:
    """A card and the stat it belongs to; is_settled: as long as the stat stays, so does the page."""

    card: Card
    stat: Stat
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Whole:
    """The text of a page, None if it is none, and the stat it belongs to; is_settled: as in Reading."""

    text: str | None
    stat: Stat
    is_settled: bool


def read_whole(tree: Tree, path: str) -> Whole | None:
    """All of the page at *path* as it is right now; None if it is gone, too large, or changes while it is read."""
    began = time.time_ns()
    try:
        with tree.opened(path, contained.FILE) as descriptor:
            data, stat = contents.snapshot(descriptor, path, LIMIT)
    except (OSError, MirrordError):
        return None
    try:
        text = decode(data)
    except Damaged:
        return Whole(None, stat, stat.is_settled(began))
    return Whole(text, stat, stat.is_settled(began))


def folder_card(path: str) -> Card:
    """The card of a directory without a page file."""
    return Card(path, Kind.FOLDER, path.rpartition("/")[2])


def read_card(directory: int, path: str) -> Reading | None:
    """The card of the page at *path*, whose directory is open; None if no regular file is there."""
    began = time.time_ns()
    try:
        descriptor = os.open(path.rpartition("/")[2], contained.FILE | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    try:
        before = stat_of(os.fstat(descriptor))
        if not before.is_file:
            return None
        data = _beginning(descriptor, before.size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # What is written from now on gets another stat: even a card of half a page only lasts until the next look
    return Reading(card_of(path, data, is_whole=len(data) >= before.size), before, before.is_settled(began))


def card_of(path: str, data: bytes, *, is_whole: bool) -> Card:
    """The card of a page of which *data* is known: all, or the beginning."""
    text = _decoded(data, is_whole=is_whole)
    head = head_of(text) if text is not None else Head()
    title = head.title or _name(path)
    is_text = True if is_whole and text is not None else None if text is not None else False
    return Card(
        *(path, Kind.PAGE, title, head.icon, head.position, head.tags, head.aliases, head.id, is_text),
        bool(head.title),
        *(head.type, head.source_type, head.original, head.created),
    )


def _name(path: str) -> str:
    spot = spot_of_file(path)
    return spot.name if spot is not None else path


def _decoded(data: bytes, *, is_whole: bool) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if is_whole or error.start < len(data) - 3:
            return None
        return data[: error.start].decode()  # the piece ends within a character


def _beginning(descriptor: int, size_bytes: int) -> bytes:
    """A piece; more where front matter goes on behind it."""
    data = os.read(descriptor, min(size_bytes, _PIECE))
    if len(data) == _PIECE and data.lstrip(b"\xef\xbb\xbf").startswith(b"---") and not _FENCE.search(data, 3):
        while len(data) < _HEAD and (piece := os.read(descriptor, _PIECE)):
            data += piece
    return data
