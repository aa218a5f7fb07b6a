"""Finds the page that a person means, and restores its earlier version or a whole tenant, as ordinary new versions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import psycopg

from mirrord.db.content import entry_edits, entry_versions, link_rows
from mirrord.db.content.entry_edits import CurrentEntry
from mirrord.db.content.entry_versions import EntryAtMoment, Revision
from mirrord.db.content.entry_writes import PageValues
from mirrord.db.database import Connection, Database, set_no_cascade, set_parents
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import Actor, EntryId, Kind, Place, TenantId, parse_id
from mirrord.domain.place import INDEX
from mirrord.errors import Refused, Stale, UserError
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.tree.tree_layout import SUFFIX, attachment_path, page_path
from mirrord.operations.undo_plan import EntryState
from mirrord.sync.writing.entry_bodies import text_of


async def directories_of(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId | None]
) -> dict[EntryId | None, str]:
    """The directory that holds the children of each of *folders*; "" for None, the root."""
    folder_ids = {folder for folder in folders if folder is not None}
    paths = await paths_of(connection, tenant, folder_ids)
    return {None: ""} | {folder: _stem_of(path) for folder, path in paths.items()}


def path_of_state(state: EntryState, kind: Kind, directories: Mapping[EntryId | None, str]) -> str:
    """Where an entry was; its folders have their present names."""
    name, directory = state.name or "", directories.get(state.parent, "")
    if kind is Kind.ATTACHMENT:
        return attachment_path(directory, name)
    if kind is Kind.PAGE:
        return page_path(directory, name)
    return f"{directory}/{name}".lstrip("/")


async def find_page(connection: Connection, tenant: TenantId, text: str) -> EntryId:
    """
    Find a page by its id, path (`.md` may be left out) or title; deleted and renamed pages too.

    Raises UserError if there is none, or several.
    """
    if (page_id := parse_id(text)) is not None:
        spot = (await link_rows.load_places(connection, tenant, [page_id])).get(page_id)
        if spot is None or spot.kind is Kind.ATTACHMENT:
            raise UserError(f"No page has the id {text}.")
        return page_id
    path = _stem_of(text.strip("/"))
    name = path.rpartition("/")[2]
    candidates = await entry_edits.find_by_name(connection, tenant, name)
    paths = await paths_of(connection, tenant, candidates)
    at_path = [entry for entry in candidates if _stem_of(paths[entry]) == path][:1]  # a living page comes first
    titled = await entry_edits.find_by_title(connection, tenant, text)
    spots = await link_rows.load_places(connection, tenant, [*at_path, *titled])
    alive = [[entry for entry in matches if not spots[entry].deleted] for matches in (at_path, titled)]
    for matches in (*alive, at_path, titled, await entry_edits.find_by_former_name(connection, tenant, name)):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UserError(await _choice_sentence(connection, tenant, text, matches))
    raise UnknownPage(text)


async def _choice_sentence(connection: Connection, tenant: TenantId, name: str, matches: Sequence[EntryId]) -> str:
    paths = await paths_of(connection, tenant, matches)
    listed = "; ".join(f"{paths[entry]} ({entry})" for entry in matches[:10])
    return f"{name!r} may be any of {len(matches)} pages; say which by its path or id: {listed}"


def _stem_of(path: str) -> str:
    """A page's path as people may write it: without `.md`, without `/_index`."""
    return path.removesuffix(SUFFIX).removesuffix(f"/{INDEX}")


class UnknownPage(UserError):
    """A text that means no page. sentence: without the advice for people."""

    def __init__(self, text: str) -> None:
        self.sentence = f"No page has the path, title or id {text!r}."
        super().__init__(f"{self.sentence} `mirrord check --all` lists the paths.")


@dataclass(frozen=True, slots=True)
class _NextVersion:
    """The version that restores a page. then: the restored version."""

    current: CurrentEntry
    then: Revision
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Restored:
    """The result. version: of the page now; revived: it was deleted; changed False: it was like this already."""

    version: int
    revived: bool
    changed: bool


async def restore(
    database: Database, tenant: TenantId, page: EntryId, version: int, actor: Actor, *, with_place: bool
) -> Restored:
    """
    Give *page* the text of *version*; a deleted page lives again. with_place: also give it its place of that version.

    Raises:
        UserError: there is no such version.
        Refused: the version had no text, or the page cannot be where it was.
        Stale: the page changed meanwhile; nothing was written.
    """
    async with database.transaction(tenant) as connection:
        current = (await entry_edits.load_entries(connection, tenant, [page])).get(page)
        then = await _load_revision(connection, tenant, page, version)
        text = await entry_versions.load_text(connection, tenant, page, version)
    if current is None or then is None:
        raise UserError(f"There is no version {version} of it; `mirrord history` lists the versions.")
    if text is None:
        raise Refused(f"Version {version} has no text: it was a folder then, or its text was never rendered.")
    target = Place(then.parent, then.name) if with_place else current.place
    if not _differs(current, text, target):
        return Restored(current.version, revived=False, changed=False)
    version_written = await _write_version(database, tenant, actor, _NextVersion(current, then, text, target))
    return Restored(version_written, current.deleted, True)


async def _load_revision(connection: Connection, tenant: TenantId, page: EntryId, version: int) -> Revision | None:
    history = await entry_versions.load_history(connection, tenant, page)
    return next((revision for revision in history if revision.version == version), None)


def _differs(current: CurrentEntry, text: str, target: Place) -> bool:
    moves = (current.place.parent, current.place.name) != (target.parent, target.name)
    return moves or current.deleted or current.is_unrendered or current.text != text


async def _write_version(database: Database, tenant: TenantId, actor: Actor, new: _NextVersion) -> int:
    current = new.current
    try:
        async with database.transaction(tenant, actor=actor) as connection:
            await set_parents(connection, [current.version, new.then.version])
            written = await entry_edits.write_text(connection, tenant, current, text_of(PageText(new.text)), new.place)
            if written is None:
                raise Stale("The page was changed at this moment; look at it, then try again.")
            return written
    except psycopg.errors.CheckViolation as error:
        raise Refused(f"The page cannot be where it was: {error.diag.message_primary}.") from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise Refused("The page cannot be where it was: the folder it was in is gone for good.") from error


BATCH_ENTRIES = 200  # entries a transaction
MAX_ROUNDS = 5


class Action(StrEnum):
    """The action of a restore on one entry."""

    REVIVE = "lives again"
    CHANGE = "gets its text of then"
    MOVE = "goes back to its place"
    DELETE = "is deleted: it was not there"
    LEAVE = "stays, although it was not there"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that differs from its state at the moment."""

    then: EntryAtMoment
    act: Action


def plan_restore(entries: Iterable[EntryAtMoment], *, delete_newer: bool) -> list[Change]:
    """The changes that restore *entries* to the moment. delete_newer: delete entries made since."""
    changes = [(entry, _act_for(entry, delete_newer=delete_newer)) for entry in entries]
    return [Change(entry, act) for entry, act in changes if act is not None]


def _act_for(entry: EntryAtMoment, *, delete_newer: bool) -> Action | None:
    if entry.version_then is None or entry.was_deleted:
        if entry.is_deleted:
            return None
        return Action.DELETE if delete_newer else Action.LEAVE
    if entry.is_deleted:
        return Action.REVIVE
    if entry.is_changed:
        return Action.CHANGE
    return Action.MOVE if entry.is_moved else None


async def preview_restore(
    database: Database, tenant: TenantId, moment: datetime, *, delete_newer: bool
) -> list[Change]:
    """The changes that a restore to *moment* would make. Raises UserError if texts of then were removed."""
    async with database.transaction(tenant) as connection:
        entries = await entry_versions.load_at_moment(connection, tenant, moment)
    changes = plan_restore(entries, delete_newer=delete_newer)
    _check_texts(changes)
    return changes


def _check_texts(changes: Sequence[Change]) -> None:
    """Raise UserError if a change needs a text that was removed after its time."""
    textless = [change.then for change in changes if change.then.is_changed and change.then.text_removed_at is not None]
    if textless:
        others = f" and {len(textless) - 1} others" if len(textless) > 1 else ""
        raise UserError(
            f"{textless[0].name}{others} had another text at that moment, which was removed: `history.keep` in "
            "mirrord.toml says how long texts of earlier versions are kept. Nothing is restored; name a later moment, "
            "or restore a backup."
        )


async def restore_tenant(
    database: Database, tenant: TenantId, moment: datetime, actor: Actor, *, delete_newer: bool
) -> list[Change]:
    """
    Restore every entry to *moment*; returns the changes left because of writes that went on meanwhile.

    What hinders one round, for instance a folder that lives again because of its pages, does not hinder the next.
    """
    remaining: list[Change] = []
    for _ in range(MAX_ROUNDS):
        remaining = await preview_restore(database, tenant, moment, delete_newer=delete_newer)
        remaining = await carry_out_changes(database, tenant, remaining, actor)
        if not remaining:
            break
    return remaining


async def carry_out_changes(
    database: Database, tenant: TenantId, changes: Sequence[Change], actor: Actor
) -> list[Change]:
    """Carry out *changes*; returns those not done because the entry changed since it was read."""
    todo = [change for change in changes if change.act is not Action.LEAVE]
    missed: list[Change] = []
    for start in range(0, len(todo), BATCH_ENTRIES):
        async with database.transaction(tenant, actor=actor) as connection:
            await set_no_cascade(connection)
            for change in todo[start : start + BATCH_ENTRIES]:
                if not await _carry_out_change(connection, tenant, change):
                    missed.append(change)
    return missed


async def _carry_out_change(connection: Connection, tenant: TenantId, change: Change) -> bool:
    then = change.then
    if change.act is Action.DELETE:
        return await entry_versions.delete_entry(connection, tenant, then)
    if then.kind in (Kind.ATTACHMENT, Kind.RECORD):
        return await entry_versions.restore_entry(connection, tenant, then, None)
    markdown = await entry_versions.load_text_then(connection, tenant, then)
    return await entry_versions.restore_entry(
        connection, tenant, then, text_of(PageText(markdown)) if markdown is not None else PageValues(None)
    )
