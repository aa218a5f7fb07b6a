"""The events of an applied change set: that it was applied, then what happened to each page."""

import json
from collections.abc import Iterator, Mapping, Sequence

from mirrord.commands.changes.change_review import SettledChange
from mirrord.commands.core import command_events
from mirrord.commands.core.session import Session
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.domain.event import EVENTS_FOLDER, EventType
from mirrord.domain.link_meaning import wikilink_path
from mirrord.mirror.draft.draft_changes import ChangeSort
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.tree_layout import spot_of_file
from mirrord.mirror.write.rename_plan import Removal

Facts = Mapping[str, object]
Happened = tuple[EventType, Facts]

# What the comparison of both trees says better than the single steps in the draft.
_SUMMED_UP = frozenset(
    {
        EventType.PAGE_CREATED,
        EventType.PAGE_WRITTEN,
        EventType.PAGE_MOVED,
        EventType.PAGE_DELETED,
        EventType.PAGE_RESTORED,
    }
)
_OF_ITS_STEP = ("change_set", "client", "trust", "channel")  # facts of a step that are not those of the change set


def lines_of_changes(
    session: Session,
    tree: DraftTree,
    facts: DraftFacts,
    settled: Sequence[SettledChange],
    entries: Mapping[str, EntryId],
    removals: Mapping[str, Removal],
) -> tuple[str, str]:
    """
    The event file, and the lines to append to it.

    removals: by the path of the deleted file, or of the deleted folder that had no page file.
    """
    happened: list[Happened] = [
        (
            EventType.CHANGES_APPLIED,
            {"title": facts.title, "message": facts.message, "kind": "draft", "pages": len(settled)},
        )
    ]
    for change in settled:
        path = change.change.path
        if (spot := spot_of_file(path)) is not None and spot.kind is Kind.PAGE:
            happened += _events_of(change, entries[path], removals.get(path))
    happened += [_deletion_of(folder) for path, folder in removals.items() if path not in entries]
    happened += [
        (kind, data)
        for kind, data in _events_in_draft(tree)
        if kind not in _SUMMED_UP and data.get("path") not in facts.rejected
    ]
    before = session.event_facts
    client = {"client": facts.client} if facts.client else {}
    session.event_facts = {**before, "change_set": facts.id, **client}
    try:
        return command_events.event_lines(session, happened)
    finally:
        session.event_facts = before


def _events_of(settled: SettledChange, entry: EntryId, removal: Removal | None) -> Iterator[Happened]:
    change = settled.change
    facts: dict[str, object] = {"page_id": str(entry), "path": change.path}
    if removal is not None:
        yield _deletion_of(removal)
        return
    digest = digest_of(settled.data) if settled.data is not None else settled.current
    facts["digest"] = digest.hex() if digest is not None else None
    if change.sort is ChangeSort.MOVED:
        yield EventType.PAGE_MOVED, {**facts, "old_path": change.source}
    if change.sort is ChangeSort.CREATED:
        yield EventType.PAGE_CREATED, facts
    elif change.sort is not ChangeSort.MOVED or _keeps_place(settled):
        yield EventType.PAGE_WRITTEN, facts


def _deletion_of(removal: Removal) -> Happened:
    return EventType.PAGE_DELETED, {"page_id": removal.entry, "path": removal.path, "trash_id": removal.key}


def _keeps_place(settled: SettledChange) -> bool:
    """Whether a page with a new text became that of a folder, or a leaf: rows see no move that names the text."""
    source, is_new = settled.change.source, settled.data is not None
    return is_new and source is not None and wikilink_path(source) == wikilink_path(settled.change.path)


def _events_in_draft(tree: DraftTree) -> Iterator[Happened]:
    try:
        names = sorted(tree.list_names(EVENTS_FOLDER))
    except FileNotFoundError:
        return
    for name in names:
        with tree.open_file(f"{EVENTS_FOLDER}/{name}") as descriptor, open(descriptor, "rb", closefd=False) as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:  # a power cut left a part of it, before its call was answered
                    continue
                data = {key: value for key, value in event["data"].items() if key not in _OF_ITS_STEP}
                yield EventType(event["type"]), data
