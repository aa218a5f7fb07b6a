"""Commands that list, add, remove, change and update collections: ordered lists of categories."""

from collections.abc import Sequence
from dataclasses import replace

from mirrord.commands.checking import (
    check_asked,
    check_new_name,
    check_other_name,
    checked_categories,
    checked_description,
)
from mirrord.commands.drafts import LISTED, Done, Edit, Listed, changed, listed, made, now, perform, preview_of, removed
from mirrord.commands.records import COLLECTIONS, changing, find
from mirrord.commands.session import Session
from mirrord.domain.approval import Preview
from mirrord.domain.collection import Collection, key_of, once
from mirrord.domain.event import Type

_REMOVAL_NOTE = "Its file is in the trash for 30 days; its categories stay."


def list_collections(
    session: Session, verbose: bool = False, cursor: str | None = None, most: int | None = LISTED
) -> Listed:
    """
    List collections, oldest first, at most *most* in one answer; None: all.

    verbose: with file paths and creation times. cursor: from an answer to the same question, to continue it.
    """
    return listed(session, COLLECTIONS, cursor, most, verbose=verbose)


def add_collection(session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()) -> Done:
    """Create a collection of existing categories."""
    with changing(session) as journal:
        return perform(session, journal, [_draft_addition(session, name, description, categories)])


def preview_add_collection(
    session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()
) -> Preview:
    """Preview add_collection."""
    return preview_of(
        [_draft_addition(session, name, description, categories)], f"The collection {name} would be made."
    )


def remove_collection(session: Session, name: str) -> Done:
    """Move a collection to the trash; its categories stay."""
    with changing(session) as journal:
        return perform(session, journal, [_draft_removal(session, name)], _REMOVAL_NOTE)


def preview_remove_collection(session: Session, name: str) -> Preview:
    """Preview remove_collection."""
    return preview_of(
        [_draft_removal(session, name)], f"The collection {name} would go to the trash; its categories stay."
    )


def change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> Done:
    """
    Change name, description or categories of a collection; None keeps a value.

    description: "" removes it. categories: replace all present ones.
    """
    with changing(session) as journal:
        return perform(session, journal, [_draft_change(session, name, new_name, description, categories)])


def preview_change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> Preview:
    """Preview change_collection."""
    edit = _draft_change(session, name, new_name, description, categories)
    return preview_of([edit], f"The collection {name} would be changed.")


def update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> Done:
    """Remove categories from a collection, then append others; removing an absent one is no error."""
    with changing(session) as journal:
        return perform(session, journal, [_draft_update(session, name, add_categories, remove_categories)])


def preview_update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> Preview:
    """Preview update_collection."""
    edit = _draft_update(session, name, add_categories, remove_categories)
    return preview_of([edit], f"The categories of the collection {name} would be changed.")


def _draft_addition(
    session: Session, name: str, description: str | None, categories: Sequence[str]
) -> Edit[Collection]:
    check_new_name(session, COLLECTIONS, name)
    checked_text, names = checked_description(description), checked_categories(session, categories)
    return made(COLLECTIONS, Collection(name, names, checked_text, now()), Type.COLLECTION_ADDED)


def _draft_removal(session: Session, name: str) -> Edit[Collection]:
    return removed(COLLECTIONS, find(session, COLLECTIONS, name), Type.COLLECTION_REMOVED)


def _draft_change(
    session: Session, name: str, new_name: str | None, description: str | None, categories: Sequence[str] | None
) -> Edit[Collection]:
    check_asked(COLLECTIONS, "change", new_name, description, categories)
    record = find(session, COLLECTIONS, name)
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

    return changed(COLLECTIONS, record, change, Type.COLLECTION_CHANGED)


def _draft_update(
    session: Session, name: str, add: Sequence[str] | None, remove: Sequence[str] | None
) -> Edit[Collection]:
    check_asked(COLLECTIONS, "update", add, remove)
    record = find(session, COLLECTIONS, name)
    added, removals = checked_categories(session, add or ()), set(map(key_of, remove or ()))

    def change(old: Collection) -> Collection:
        remaining = [category for category in old.categories if key_of(category) not in removals]
        return replace(old, categories=once([*remaining, *added], folded=True))

    return changed(COLLECTIONS, record, change, Type.COLLECTION_UPDATED)
