"""The remainder of a draft of which a part is applied: another draft, which changes what is not applied."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mirrord.domain.entry import Digest, EntryId, digest_of
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.mirror.draft import draft_changes, draft_store
from mirrord.mirror.draft.draft_changes import ChangeSort, DraftChange
from mirrord.mirror.draft.draft_manifest import MANIFEST_NAME, Claim, ClaimKind, encode_manifest
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.draft.draft_tree import FILES_NAME, DraftTree
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write import trash
from mirrord.mirror.write.journal import PRIVATE_MODE, TRASH_PATH
from mirrord.mirror.write.journal_labels import Label, new_name
from mirrord.mirror.write.trash import TrashedFile

_MAX_BYTES = 1 << 30  # of a file of a draft


@dataclass(frozen=True, slots=True)
class AppliedFile:
    """
    A file of the part that is applied.

    data: what the tree has then; None: nothing. full: what the draft goes on with, if only a part of its text is
    applied; else None.
    """

    change: DraftChange
    entry: EntryId
    data: bytes | None
    full: bytes | None = None


def write_remainder(
    tree: DraftTree, facts: DraftFacts, applied: Sequence[AppliedFile], rejected: Collection[str]
) -> None:
    """
    Write a draft like *tree* under *facts*, durably, in which the files *applied* are as the tree will have them.

    rejected: paths of what it changes. Nothing is changed in *tree*.
    A draft with this id, left behind by a process that died, is replaced.
    """
    lower, files = tree.lower, {file.change.path: file for file in applied}
    draft_store.forget_draft(lower, facts)
    upper = f"{facts.directory}/{FILES_NAME}"
    lower.make_directories(upper, PRIVATE_MODE)
    _copy_files(tree, upper, files)
    _copy_trash(tree, upper, applied)
    _copy_events(tree, upper, rejected)
    with lower.open_directory(facts.directory) as directory:
        kernel.write_new(directory, MANIFEST_NAME, encode_manifest(*_claims_of(tree, applied)))
    draft_store.write_facts(lower, facts)


def _copy_files(tree: DraftTree, upper: str, files: Mapping[str, AppliedFile]) -> None:
    for path, stat in tree.own_entries():
        if stat.is_directory:
            tree.lower.make_directories(f"{upper}/{path}", PRIVATE_MODE)
            continue
        file = files.get(path)
        data = (file.full or file.data) if file is not None else None
        _write_file(tree.lower, f"{upper}/{path}", tree.snapshot(path, _MAX_BYTES)[0] if data is None else data)


def _copy_trash(tree: DraftTree, upper: str, applied: Sequence[AppliedFile]) -> None:
    """The draft's trash, without what is removed for good; it has the earlier texts of changed files."""
    removed_entries = {file.entry for file in applied if file.change.sort is ChangeSort.DELETED}
    for trashed in draft_changes.own_trash(tree):
        if trashed.card is None or trashed.label.entry not in removed_entries:
            _copy_trashed(tree, upper, trashed)
    for file in applied:
        if file.full is not None and file.data is not None:
            name = new_name("d", Label(file.entry, digest_of(file.data), None))
            _write_file(tree.lower, f"{upper}/{TRASH_PATH}/{name}", file.data)


def _copy_trashed(tree: DraftTree, upper: str, trashed: TrashedFile) -> None:
    names = (trashed.name, f"{trashed.name}.json") if trashed.card is not None else (trashed.name,)
    for name in names:
        path = f"{TRASH_PATH}/{name}"
        _write_file(tree.lower, f"{upper}/{path}", tree.snapshot(path, _MAX_BYTES)[0])


def _copy_events(tree: DraftTree, upper: str, rejected: Collection[str]) -> None:
    """The events of what is not applied."""
    try:
        names = tree.list_names(EVENTS_FOLDER)
    except FileNotFoundError:
        return
    for name in names:
        path = f"{EVENTS_FOLDER}/{name}"
        lines = tree.snapshot(path, _MAX_BYTES)[0].splitlines(keepends=True)
        remaining_lines = [line for line in lines if json.loads(line)["data"].get("path") in rejected]
        if remaining_lines:
            _write_file(tree.lower, f"{upper}/{path}", b"".join(remaining_lines))


def _claims_of(tree: DraftTree, applied: Sequence[AppliedFile]) -> tuple[list[Claim], dict[str, str]]:
    claims, sources = dict(tree.manifest.claims), dict(tree.manifest.sources)
    restored = {file.entry for file in applied if file.change.sort is not ChangeSort.DELETED}
    for trashed in trash.list_trash(tree.lower):
        if trashed.label.entry in restored:
            claims.pop(f"{TRASH_PATH}/{trashed.name}", None)
    own_paths = {path for path, _ in tree.own_entries()}
    for file in applied:
        if (source := file.change.source) is not None:
            claims.pop(source, None)
            if source in own_paths:  # another file of the draft took the place that is empty in the tree now
                claims[source] = Claim(source, ClaimKind.ABSENT)
        sources.pop(file.change.path, None)
    for file in applied:
        if file.data is not None:
            path = file.change.path
            claims[path] = Claim(path, ClaimKind.FILE, Digest(digest_of(file.data)), tree.stat(path))
            sources[path] = path
    return [*claims.values()], sources


def _write_file(tree: Tree, path: str, data: bytes) -> None:
    tree.make_directories(parent_of(path), PRIVATE_MODE)
    with tree.open_directory(parent_of(path)) as directory:
        kernel.write_new(directory, os.path.basename(path), data)
        kernel.fsync(directory)
