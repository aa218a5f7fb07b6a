"""History as seen by a scope that hides a part of the tree: what crosses its border comes into being, or goes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from mirrord.db.content import entry_edits, entry_versions, link_rows, recent_versions
from mirrord.db.content.entry_versions import Revision
from mirrord.db.content.recent_versions import Period
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.scope import Scope
from mirrord.errors import UserError
from mirrord.operations.change_listing import (
    BATCH_ENTRIES,
    MAX_ANSWER_BYTES,
    TOO_SLOW,
    ChangeQuestion,
    ListedChanges,
    Unanswerable,
    describe_batch,
    is_below,
    stem_of,
)
from mirrord.operations.page_versions import History, load_page_history

MAX_LOOK_SECONDS = 20.0  # seconds of one answer, which all later questions wait for


async def load_scoped_history(connection: Connection, tenant: TenantId, path: str, scope: Scope) -> History:
    """
    The versions of the page at *path* since it is where *scope* shows it. Raises UserError.

    Before a folder above it was moved, the page may have been elsewhere: of that time only the last version is shown.
    """
    page = await _find_at_path(connection, tenant, path) if scope.can_read(path) else None
    if page is None:
        raise UserError(f"No page has the path {path!r}.")
    loaded = await load_page_history(connection, tenant, str(page))
    moved_at = await _last_move_above(connection, tenant, loaded.revisions[-1].parent)
    revisions = _since_it_is_seen(loaded, scope, moved_at)
    if not revisions:
        raise UserError(f"No page has the path {path!r}.")
    return replace(loaded, revisions=revisions)


async def list_scoped_changes(
    connection: Connection, tenant: TenantId, question: ChangeQuestion, scope: Scope
) -> ListedChanges:
    """
    As list_changes(), of what *scope* shows. start and next_start count these changes only.

    Raises Unanswerable for a path that is hidden, as for one that nothing is at, and for an answer that takes too long.
    """
    stem = stem_of(question.path) if question.path is not None else None
    if question.path is not None and not (scope.can_read(question.path) or scope.may_contain(question.path)):
        raise Unanswerable("PATH_NOT_FOUND", f"There is no page or folder {question.path!r}, and there was none.")
    recent = await recent_versions.load_recent(connection, tenant, question.period)
    later = Period(question.period.since, await recent_versions.load_clock(connection))
    versions = {entry.entry: entry.versions for entry in await recent_versions.load_recent(connection, tenant, later)}
    changes: list[Mapping[str, Any]] = []
    position, size = 0, 0
    end = time.monotonic() + MAX_LOOK_SECONDS
    for first in range(0, len(recent), BATCH_ENTRIES):
        if time.monotonic() > end:
            raise Unanswerable("TOO_SLOW", TOO_SLOW)
        batch = recent[first : first + BATCH_ENTRIES]
        for facts in await describe_batch(connection, tenant, batch, scope, versions):
            if facts is None or not is_below(facts, stem):
                continue
            position += 1
            if position <= question.start:
                continue
            size += len(orjson.dumps(facts)) + 1
            if size > MAX_ANSWER_BYTES and changes:
                return ListedChanges(changes, position - 1)
            changes.append(facts)
    return ListedChanges(changes, None)


async def _find_at_path(connection: Connection, tenant: TenantId, path: str) -> EntryId | None:
    """The page at *path*, a living one first. Names, titles and ids mean nothing here: they would be guesses."""
    stem = stem_of(path)
    candidates = await entry_edits.find_by_name(connection, tenant, stem.rpartition("/")[2])
    paths = await paths_of(connection, tenant, candidates)
    return next((entry for entry in candidates if stem_of(paths[entry]) == stem), None)


async def _last_move_above(connection: Connection, tenant: TenantId, folder: EntryId | None) -> datetime:
    """When one of the folders above was last moved or renamed."""
    moved_at = datetime.min.replace(tzinfo=UTC)
    parents = await link_rows.load_parents(connection, tenant, [folder] if folder is not None else [])
    while folder is not None:
        revisions = await entry_versions.load_history(connection, tenant, folder)
        moves = [revision.created_at for revision in revisions if "place" in revision.changed]
        moved_at = max([moved_at, *moves])
        folder = parents[folder][0] if folder in parents else None
    return moved_at


def _since_it_is_seen(loaded: History, scope: Scope, moved_at: datetime) -> Sequence[Revision]:
    """The newest versions, as far back as all of them are where *scope* shows them."""
    revisions: list[Revision] = []
    for revision in reversed(loaded.revisions):
        is_placed = revision.parent is None or revision.parent in loaded.directories
        if not is_placed or not scope.can_read(loaded.place_of(revision)):
            break
        revisions.append(revision)
        if revision.created_at < moved_at:
            break
    return revisions[::-1]
