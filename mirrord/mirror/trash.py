"""
The trash: `.mirrord/trash/`, what mirrord took out of the tree, for 30 days; what was replaced and is a version, for
minutes: a page that is edited in a browser is replaced every second, and whoever looks at the trash looks at all of it.

A replaced file keeps its journal name; a removed page has `NAME.json` beside it that says what it was. The
digest in the name is what the file held when it came; other bytes were written later by somebody who still
had it open, and must be taken in as a version.
"""

import json
import os
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror import contents, kernel
from mirrord.mirror.journal import PRIVATE, TRASH
from mirrord.mirror.kernel import Stat
from mirrord.mirror.label import Label, key_of, label_of, name_of, relabelled
from mirrord.mirror.tree import Tree

RETENTION = timedelta(days=30)
OF_VERSIONS = timedelta(minutes=10)

_CARD = ".json"


@dataclass(frozen=True, slots=True)
class Card:
    """What a removed page was: its path and title in the tree, why and when (Unix seconds) it went."""

    path: str
    title: str | None
    reason: str
    time: float


@dataclass(frozen=True, slots=True)
class Trashed:
    """A file in the trash; card: None for a file that was replaced, not removed."""

    name: str
    label: Label
    card: Card | None
    stat: Stat


def sync(tree: Tree) -> None:
    """Make durable what came into the trash and what left it."""
    with tree.directory(TRASH) as trash:
        kernel.fsync(trash)


def put_card(tree: Tree, name: str, label: Label, card: Card) -> None:
    """Say what *name* was; before the file itself comes, so that it is never there without."""
    tree.make_directories(TRASH, PRIVATE)
    facts = asdict(card) | {"id": str(label.entry), "digest": label.expected.hex() if label.expected else None}
    with tree.directory(TRASH) as trash:
        descriptor = kernel.create(trash, name + _CARD, 0o600)
        try:
            kernel.write(descriptor, json.dumps(facts, ensure_ascii=True).encode())
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)


def put_directory(tree: Tree, entry: EntryId, nothing: Digest, card: Card, key: str) -> None:
    """Keep that a directory was removed: an empty file, whose digest is *nothing*, stands for it. key: as in find()."""
    label = Label(entry, nothing, None)
    name = name_of("d", label, key)
    put_card(tree, name, label, card)
    with tree.directory(TRASH) as trash:
        os.close(kernel.create(trash, name, 0o600))
        kernel.fsync(trash)


def contents_of(tree: Tree) -> list[Trashed]:
    """Everything in the trash, oldest arrival first."""
    return [Trashed(name, label, _card(tree, name), stat) for name, label, stat in _files(tree)]


def find(tree: Tree, key: str) -> Trashed | None:
    """What was removed under this key, the last part of its name; None: nothing, or it is gone for good."""
    for name, label, stat in _files(tree):
        if key_of(name) == key and (card := _card(tree, name)) is not None:
            return Trashed(name, label, card, stat)
    return None


def take_out(tree: Tree, found: Trashed) -> None:
    """Forget what is back in the tree; a save that came later stays."""
    assert found.label.expected is not None
    _purge(tree, found.name, found.label)


def late_saves(tree: Tree, seen: MutableMapping[str, Stat]) -> list[tuple[str, Label, Digest]]:
    """
    Files somebody went on writing after they were moved here: name, label, the digest they have now.

    seen: the stats of the call before, brought up to date; only files that differ are read.
    """
    late, listed = [], set[str]()
    for name, label, stat in _files(tree):
        listed.add(name)
        if seen.get(name) == stat:
            continue
        try:
            digest, stat = tree.digest(f"{TRASH}/{name}")
        except (Busy, Refused, OSError):  # another time
            continue
        seen[name] = stat
        if digest != label.expected:
            late.append((name, label, digest))
    for name in seen.keys() - listed:
        del seen[name]
    return late


def accept(tree: Tree, name: str, digest: Digest) -> None:
    """Record that a late save with this *digest* was taken in: from now on it is what the file should hold."""
    new = relabelled(name, digest)
    with tree.directory(TRASH) as trash:
        if tree.stat(f"{TRASH}/{name}{_CARD}"):
            kernel.rename(trash, name + _CARD, trash, new + _CARD)
        kernel.rename(trash, name, trash, new)


def purge(tree: Tree, now: float) -> list[str]:
    """
    Delete for good what came RETENTION before *now* (Unix seconds), is unchanged, and nobody has open.

    Returns the names deleted.
    """
    oldest = _before(now, RETENTION)
    gone = [name for name, label, stat in _files(tree) if stat.ctime_ns < oldest and _purge(tree, name, label)]
    _purge_lone_cards(tree, oldest)
    return gone


def replaced(seen: Mapping[str, Stat], now: float) -> list[tuple[str, Label]]:
    """
    Of what `late_saves` saw, what came OF_VERSIONS before *now* (Unix seconds) because a text took its place: it may go
    if it is a version.
    """
    oldest = _before(now, OF_VERSIONS)
    old = [name for name, stat in seen.items() if stat.ctime_ns < oldest and stat.links == 1]
    return [(name, label) for name in old if (label := label_of(name)) is not None and label.new is not None]


def let_go(tree: Tree, versions: Iterable[tuple[str, Label]]) -> list[str]:
    """
    Delete for good what was *replaced* and is a version, is unchanged, and for sure nobody has open.

    Returns the names deleted.
    """
    return [name for name, label in versions if _purge(tree, name, label, surely=True)]


def _before(now: float, span: timedelta) -> float:
    return (now - span.total_seconds()) * 1e9


def size(tree: Tree) -> tuple[int, int]:
    """How many files are in the trash, and their bytes together."""
    sizes = [stat.size for _, _, stat in _files(tree)]
    return len(sizes), sum(sizes)


def _purge(tree: Tree, name: str, label: Label, *, surely: bool = False) -> bool:
    """surely: not where nobody can tell who has it open."""
    try:
        if not _is_done(tree, name, label, surely=surely):
            return False
        with tree.directory(TRASH) as trash:
            kernel.unlink(trash, name)
            with suppress(FileNotFoundError):
                kernel.unlink(trash, name + _CARD)
    except (Busy, Refused, OSError):  # somebody else is at it, or it cannot be read: another day
        return False
    return True


def _purge_lone_cards(tree: Tree, oldest: float) -> None:
    """A crash between a card and its file, or a person who emptied the trash, left the card."""
    try:
        found = tree.names(TRASH)
    except FileNotFoundError:
        return
    lone = [
        name
        for name, stat in found.items()
        if name.endswith(_CARD) and name.removesuffix(_CARD) not in found and stat.ctime_ns < oldest
    ]
    with tree.directory(TRASH) as trash:
        for name in lone:
            with suppress(OSError):
                kernel.unlink(trash, name)


def _files(tree: Tree) -> list[tuple[str, Label, Stat]]:
    try:
        found = tree.names(TRASH)
    except FileNotFoundError:
        return []
    files = [(name, label, stat) for name, stat in found.items() if stat.is_file and (label := label_of(name))]
    return sorted(files, key=lambda file: file[2].ctime_ns)


def _is_done(tree: Tree, name: str, label: Label, *, surely: bool) -> bool:
    with tree.file(f"{TRASH}/{name}") as descriptor:
        has_other = kernel.has_other(descriptor)
        if has_other or (surely and has_other is None):
            return False
        return contents.digest_now(descriptor) == label.expected


def _card(tree: Tree, name: str) -> Card | None:
    try:
        raw: dict[str, Any] = json.loads(tree.read(f"{TRASH}/{name}{_CARD}", 1 << 20)[0])
        return Card(raw["path"], raw["title"], raw["reason"], raw["time"])
    except (ValueError, KeyError, FileNotFoundError):
        return None
