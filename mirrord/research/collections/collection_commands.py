"""Commands that list and change collections."""

from collections.abc import Sequence
from dataclasses import replace

from mirrord.commands.core.session import Session
from mirrord.domain.approval import Preview
from mirrord.domain.event import EventType
from mirrord.research.collections.collection_records import (
    COLLECTIONS,
    changing_records,
    check_any_change,
    check_new_name,
    check_other_name,
    checked_categories,
    checked_description,
    find_record,
)
from mirrord.research.collections.collection_rules import Collection, distinct_values, key_of
from mirrord.research.collections.record_drafts import (
    MAX_LISTED_RECORDS,
    ChangedRecord,
    RecordEdit,
    RecordList,
    carry_out_draft,
    creation_time,
    edit_to_change,
    edit_to_create,
    edit_to_remove,
    list_records,
    preview_draft,
)

_REMOVAL_NOTE = "Its file is in the trash for 30 days; its categories stay."


def list_collections(
    session: Session, verbose: bool = False, cursor: str | None = None, limit: int | None = MAX_LISTED_RECORDS
) -> RecordList:
    """
    List collections, oldest first, at most *limit* in one answer; None: all.

    verbose: with file paths and creation times. cursor: from an answer to the same question, to continue it.
    """
    return list_records(session, COLLECTIONS, cursor, limit, verbose=verbose)


def add_collection(
    session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()
) -> ChangedRecord:
    """Create a collection of existing categories."""
    with changing_records(session) as journal:
        return carry_out_draft(session, journal, [_draft_addition(session, name, description, categories)])


def preview_add_collection(
    session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()
) -> Preview:
    """Preview add_collection."""
    return preview_draft(
        [_draft_addition(session, name, description, categories)], f"The collection {name} would be made."
    )


def remove_collection(session: Session, name: str) -> ChangedRecord:
    """Move a collection to the trash; its categories stay."""
    with changing_records(session) as journal:
        return carry_out_draft(session, journal, [_draft_removal(session, name)], _REMOVAL_NOTE)


def preview_remove_collection(session: Session, name: str) -> Preview:
    """Preview remove_collection."""
    return preview_draft(
        [_draft_removal(session, name)], f"The collection {name} would go to the trash; its categories stay."
    )


def change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> ChangedRecord:
    """
    Change name, description or categories of a collection; None keeps a value.

    description: "" removes it. categories: replace all present ones.
    """
    with changing_records(session) as journal:
        return carry_out_draft(session, journal, [_draft_change(session, name, new_name, description, categories)])


def preview_change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> Preview:
    """Preview change_collection."""
    edit = _draft_change(session, name, new_name, description, categories)
    return preview_draft([edit], f"The collection {name} would be changed.")


def update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> ChangedRecord:
    """Remove categories from a collection, then append others; removing an absent one is no error."""
    with changing_records(session) as journal:
        return carry_out_draft(session, journal, [_draft_update(session, name, add_categories, remove_categories)])


def preview_update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> Preview:
    """Preview update_collection."""
    edit = _draft_update(session, name, add_categories, remove_categories)
    return preview_draft([edit], f"The categories of the collection {name} would be changed.")


def _draft_addition(
    session: Session, name: str, description: str | None, categories: Sequence[str]
) -> RecordEdit[Collection]:
    check_new_name(session, COLLECTIONS, name)
    checked_text, names = checked_description(description), checked_categories(session, categories)
    return edit_to_create(
        COLLECTIONS, Collection(name, names, checked_text, creation_time()), EventType.COLLECTION_ADDED
    )


def _draft_removal(session: Session, name: str) -> RecordEdit[Collection]:
    return edit_to_remove(COLLECTIONS, find_record(session, COLLECTIONS, name), EventType.COLLECTION_REMOVED)


def _draft_change(
    session: Session, name: str, new_name: str | None, description: str | None, categories: Sequence[str] | None
) -> RecordEdit[Collection]:
    check_any_change(COLLECTIONS, "change", new_name, description, categories)
    record = find_record(session, COLLECTIONS, name)
    if new_name is not None:
        check_other_name(session, COLLECTIONS, record.value.name, new_name)
    checked_text = checked_description(description)
    names = checked_categories(session, categories) if categories is not None else None

    def change(old: Collection) -> Collection:
        return replace(
            old,
            name=new_name if new_name is not None else record.value.name,
            description=checked_text if description is not None else old.description,
            categories=names if names is not None else old.categories,
        )

    return edit_to_change(COLLECTIONS, record, change, EventType.COLLECTION_CHANGED)


def _draft_update(
    session: Session, name: str, add: Sequence[str] | None, remove: Sequence[str] | None
) -> RecordEdit[Collection]:
    check_any_change(COLLECTIONS, "update", add, remove)
    record = find_record(session, COLLECTIONS, name)
    added, removals = checked_categories(session, add or ()), set(map(key_of, remove or ()))

    def change(old: Collection) -> Collection:
        remaining = [category for category in old.categories if key_of(category) not in removals]
        return replace(old, categories=distinct_values([*remaining, *added], folded=True))

    return edit_to_change(COLLECTIONS, record, change, EventType.COLLECTION_UPDATED)
