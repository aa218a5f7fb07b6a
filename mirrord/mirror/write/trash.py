"""
The trash, `.mirrord/trash/`: removed files for 30 days, replaced texts that are versions for minutes.

A replaced file keeps its journal name; a removed page has a card `NAME.json` beside it with its facts. The digest in
the name is that of the file at its arrival; other bytes were written later through an open descriptor, and must be
stored as a version.
"""

import json
import os
from collections.abc import Container, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import PRIVATE_MODE, TRASH_PATH
from mirrord.mirror.write.journal_labels import Label, key_of, label_of, new_name, with_expected_digest

RETENTION = timedelta(days=30)
VERSION_RETENTION = timedelta(minutes=10)

_CARD_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class TrashCard:
    """
    Facts of a removed page: path and title in the tree, reason and time (Unix seconds) of the removal.

    owner: of a text that was only in a draft: the mark of whom the draft belonged to.
    """

    path: str
    title: str | None
    reason: str
    time: float
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class TrashedFile:
    """A file in the trash; card: None for a file that was replaced, not removed."""

    name: str
    label: Label
    card: TrashCard | None
    stat: Stat


def sync_trash(tree: Tree) -> None:
    """Make arrivals and removals in the trash durable."""
    with tree.open_directory(TRASH_PATH) as trash:
        kernel.fsync(trash)


def write_card(tree: Tree, name: str, label: Label, card: TrashCard) -> None:
    """Write the card of *name*, before the file itself arrives, so that it always has one."""
    tree.make_directories(TRASH_PATH, PRIVATE_MODE)
    facts = asdict(card) | {"id": str(label.entry), "digest": label.expected.hex() if label.expected else None}
    with tree.open_directory(TRASH_PATH) as trash:
        kernel.write_new(trash, name + _CARD_SUFFIX, json.dumps(facts, ensure_ascii=True).encode())


def record_directory(tree: Tree, entry: EntryId, nothing: Digest, card: TrashCard, key: str) -> None:
    """Record the removal of a directory as an empty file, whose digest is *nothing*. key: as in find()."""
    label = Label(entry, nothing, None)
    name = new_name("d", label, key)
    write_card(tree, name, label, card)
    with tree.open_directory(TRASH_PATH) as trash:
        os.close(kernel.create(trash, name, 0o600))
        kernel.fsync(trash)


def list_trash(tree: Tree, without: Container[str] = ()) -> list[TrashedFile]:
    """Everything in the trash that *tree* shows but the names *without*, oldest arrival first."""
    listed = [file for file in _list_files(tree) if file[0] not in without]
    files = [TrashedFile(name, label, _read_card(tree, name, label), stat) for name, label, stat in listed]
    return [trashed for trashed in files if trashed.card is None or tree.shows(trashed.card.path)]


def names_of_text(tree: Tree, digest: Digest) -> list[str]:
    """The names of what *tree* shows in the trash that came with this digest. Reads no card but theirs."""
    try:
        names = tree.list_names(TRASH_PATH)
    except FileNotFoundError:
        return []
    labels = {name: label for name in names if (label := label_of(name)) is not None and label.expected == digest}
    cards = {name: _read_card(tree, name, label) for name, label in labels.items()}
    return [name for name, card in cards.items() if card is None or tree.shows(card.path)]


def find_removed(tree: Tree, key: str) -> TrashedFile | None:
    """The removed file with this key, the last part of its name; None: there is none, or it was purged."""
    for name, label, stat in _list_files(tree):
        if key_of(name) == key and (card := _read_card(tree, name, label)) is not None and tree.shows(card.path):
            return TrashedFile(name, label, card, stat)
    return None


def drop_restored(tree: Tree, trashed: TrashedFile) -> None:
    """Delete a file that is back in the tree; a later save to it stays."""
    assert trashed.label.expected is not None
    _delete_if_unchanged(tree, trashed.name, trashed.label)


def late_saves(tree: Tree, stats: MutableMapping[str, Stat]) -> list[tuple[str, Label, Digest]]:
    """
    Files that were written after their move to the trash: name, label, current digest.

    stats: the stats of the previous call, updated here; only files that differ are read.
    """
    saves, names = [], set[str]()
    for name, label, stat in _list_files(tree):
        names.add(name)
        if stats.get(name) == stat:
            continue
        try:
            digest, stat = tree.digest(f"{TRASH_PATH}/{name}")
        except (Busy, Refused, OSError):  # next time
            continue
        stats[name] = stat
        if digest != label.expected:
            saves.append((name, label, digest))
    for name in stats.keys() - names:
        del stats[name]
    return saves


def accept_late_save(tree: Tree, name: str, digest: Digest) -> None:
    """Record that a late save with this *digest* is stored: it is the expected content from now on."""
    new = with_expected_digest(name, digest)
    with tree.open_directory(TRASH_PATH) as trash:
        if tree.stat(f"{TRASH_PATH}/{name}{_CARD_SUFFIX}"):
            kernel.rename(trash, name + _CARD_SUFFIX, trash, new + _CARD_SUFFIX)
        kernel.rename(trash, name, trash, new)


def purge(tree: Tree, now: float) -> list[str]:
    """
    Delete files that arrived RETENTION before *now* (Unix seconds), are unchanged, and not open elsewhere.

    Returns the names deleted.
    """
    oldest = _cutoff_ns(now, RETENTION)
    purged = [
        name
        for name, label, stat in _list_files(tree)
        if stat.ctime_ns < oldest and _delete_if_unchanged(tree, name, label)
    ]
    _delete_lone_cards(tree, oldest)
    return purged


def expired_replacements(stats: Mapping[str, Stat], now: float) -> list[tuple[str, Label]]:
    """
    Files from `late_saves` that arrived OF_VERSIONS before *now* (Unix seconds) because a text replaced them: they may
    be deleted if they are versions.
    """
    oldest = _cutoff_ns(now, VERSION_RETENTION)
    old_names = [name for name, stat in stats.items() if stat.ctime_ns < oldest and stat.links == 1]
    return [(name, label) for name in old_names if (label := label_of(name)) is not None and label.new is not None]


def purge_versions(tree: Tree, versions: Iterable[tuple[str, Label]]) -> list[str]:
    """
    Delete replaced files that are *versions*, unchanged, and certainly not open elsewhere.

    Returns the names deleted.
    """
    return [name for name, label in versions if _delete_if_unchanged(tree, name, label, surely=True)]


def _cutoff_ns(now: float, span: timedelta) -> float:
    return (now - span.total_seconds()) * 1e9


def trash_size(tree: Tree) -> tuple[int, int]:
    """Number of files in the trash, and their bytes in total."""
    sizes = [stat.size for _, _, stat in _list_files(tree)]
    return len(sizes), sum(sizes)


def _delete_if_unchanged(tree: Tree, name: str, label: Label, *, surely: bool = False) -> bool:
    """surely: keep files whose open handles cannot be checked."""
    try:
        if not _is_unchanged(tree, name, label, surely=surely):
            return False
        tree.claim(f"{TRASH_PATH}/{name}", f"{TRASH_PATH}/{name}{_CARD_SUFFIX}")
        with tree.open_directory(TRASH_PATH) as trash:
            kernel.unlink(trash, name)
            with suppress(FileNotFoundError):
                kernel.unlink(trash, name + _CARD_SUFFIX)
    except (Busy, Refused, OSError):  # in use or unreadable: next time
        return False
    return True


def _delete_lone_cards(tree: Tree, oldest: float) -> None:
    """Delete cards without a file: a crash before its arrival, or a person who emptied the trash, left them."""
    try:
        stats = tree.list_stats(TRASH_PATH)
    except FileNotFoundError:
        return
    lone = [
        name
        for name, stat in stats.items()
        if name.endswith(_CARD_SUFFIX) and name.removesuffix(_CARD_SUFFIX) not in stats and stat.ctime_ns < oldest
    ]
    with tree.open_directory(TRASH_PATH) as trash:
        for name in lone:
            with suppress(OSError):
                kernel.unlink(trash, name)


def _list_files(tree: Tree) -> list[tuple[str, Label, Stat]]:
    try:
        stats = tree.list_stats(TRASH_PATH)
    except FileNotFoundError:
        return []
    files = [(name, label, stat) for name, stat in stats.items() if stat.is_file and (label := label_of(name))]
    return sorted(files, key=lambda file: file[2].ctime_ns)


def _is_unchanged(tree: Tree, name: str, label: Label, *, surely: bool) -> bool:
    with tree.open_file(f"{TRASH_PATH}/{name}") as descriptor:
        has_other = kernel.is_open_elsewhere(descriptor)
        if has_other or (surely and has_other is None):
            return False
        return contained_files.digest_now(descriptor) == label.expected


def _read_card(tree: Tree, name: str, label: Label) -> TrashCard | None:
    """The card of a file that was removed; None: it has none, as a text that another one replaced."""
    if label.new is not None:
        return None
    try:
        raw: dict[str, Any] = json.loads(tree.read(f"{TRASH_PATH}/{name}{_CARD_SUFFIX}", 1 << 20)[0])
        return TrashCard(raw["path"], raw["title"], raw["reason"], raw["time"], raw.get("owner"))
    except (ValueError, KeyError, TypeError, RecursionError, FileNotFoundError):
        return None
