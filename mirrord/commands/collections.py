"""The agent lists, adds, removes, changes and updates collections: ordered lists of categories."""

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

_STAY = "Its file is in the trash for 30 days; its categories stay."


def list_collections(
    session: Session, verbose: bool = False, cursor: str | None = None, most: int | None = LISTED
) -> Listed:
    """
    List collections, the oldest first, at most *most* at once; None: all.

    verbose: with their files, and when they were made. cursor: of an answer to the same question, to go on behind it.
    """
    return listed(session, COLLECTIONS, cursor, most, verbose=verbose)


def add_collection(session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()) -> Done:
    """Make a collection of categories that there are."""
    with changing(session) as journal:
        return perform(session, journal, [_added(session, name, description, categories)])


def preview_add_collection(
    session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()
) -> Preview:
    """What add_collection would do."""
    return preview_of([_added(session, name, description, categories)], f"The collection {name} would be made.")


def remove_collection(session: Session, name: str) -> Done:
    """Move a collection to the trash; its categories stay."""
    with changing(session) as journal:
        return perform(session, journal, [_removed(session, name)], _STAY)


def preview_remove_collection(session: Session, name: str) -> Preview:
    """What remove_collection would do."""
    return preview_of([_removed(session, name)], f"The collection {name} would go to the trash; its categories stay.")


def change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> Done:
    """
    Replace what a collection is called, says or holds; what is not given stays.

    description: "" takes it away. categories: instead of all that it has.
    """
    with changing(session) as journal:
        return perform(session, journal, [_changed(session, name, new_name, description, categories)])


def preview_change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> Preview:
    """What change_collection would do."""
    edit = _changed(session, name, new_name, description, categories)
    return preview_of([edit], f"The collection {name} would be changed.")


def update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> Done:
    """Take categories out of a collection, then put others at its end; one that is not in it may be taken out, too."""
    with changing(session) as journal:
        return perform(session, journal, [_updated(session, name, add_categories, remove_categories)])


def preview_update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> Preview:
    """What update_collection would do."""
    edit = _updated(session, name, add_categories, remove_categories)
    return preview_of([edit], f"The categories of the collection {name} would be changed.")


def _added(session: Session, name: str, description: str | None, categories: Sequence[str]) -> Edit[Collection]:
    check_new_name(session, COLLECTIONS, name)
    said, found = checked_description(description), checked_categories(session, categories)
    return made(COLLECTIONS, Collection(name, found, said, now()), Type.COLLECTION_ADDED)


def _removed(session: Session, name: str) -> Edit[Collection]:
    return removed(COLLECTIONS, find(session, COLLECTIONS, name), Type.COLLECTION_REMOVED)


def _changed(
    session: Session, name: str, new_name: str | None, description: str | None, categories: Sequence[str] | None
) -> Edit[Collection]:
    check_asked(COLLECTIONS, "change", new_name, description, categories)
    kept = find(session, COLLECTIONS, name)
    if new_name is not None:
        check_other_name(session, COLLECTIONS, kept.value.name, new_name)
    said = checked_description(description)
    found = checked_categories(session, categories) if categories is not None else None

    def change(old: Collection) -> Collection:
        return replace(
            old,
            name=new_name if new_name is not None else kept.value.name,
            description=said if description is not None else old.description,
            categories=found if found is not None else old.categories,
        )

    return changed(COLLECTIONS, kept, change, Type.COLLECTION_CHANGED)


def _updated(session: Session, name: str, add: Sequence[str] | None, remove: Sequence[str] | None) -> Edit[Collection]:
    check_asked(COLLECTIONS, "update", add, remove)
    kept = find(session, COLLECTIONS, name)
    added, gone = checked_categories(session, add or ()), set(map(key_of, remove or ()))

    def change(old: Collection) -> Collection:
        left = [one for one in old.categories if key_of(one) not in gone]
        return replace(old, categories=once([*left, *added], folded=True))

    return changed(COLLECTIONS, kept, change, Type.COLLECTION_UPDATED)
