"""The agent lists, adds, removes, changes and updates categories; collections that use them follow."""

from collections.abc import Sequence
from dataclasses import replace

from mirrord.commands import paths
from mirrord.commands.checking import check_asked, check_new_name, check_other_name, checked_description
from mirrord.commands.drafts import (
    LISTED,
    Done,
    Draft,
    Edit,
    Listed,
    changed,
    listed,
    made,
    now,
    perform,
    preview_of,
    removed,
)
from mirrord.commands.failure import invalid
from mirrord.commands.records import CATEGORIES, COLLECTIONS, changing, every, find, unreadable
from mirrord.commands.session import Session
from mirrord.domain.approval import Preview
from mirrord.domain.collection import Category, Collection, key_of, once
from mirrord.domain.event import Type
from mirrord.domain.globbing import fault_in

MOST_PATTERNS = 100
_ROOT = ("", ".")
_SYNTAX = "Write patterns such as *.md, notes/**, drafts/ or !old-*, relative to dir."


def list_categories(
    session: Session, verbose: bool = False, cursor: str | None = None, most: int | None = LISTED
) -> Listed:
    """
    List categories, the oldest first, at most *most* at once; None: all.

    verbose: with their files, and when they were made. cursor: of an answer to the same question, to go on behind it.
    """
    return listed(session, CATEGORIES, cursor, most, verbose=verbose)


def add_category(
    session: Session, name: str, dir: str = "", patterns: Sequence[str] = (), description: str | None = None
) -> Done:
    """
    Make a category of the pages below a directory.

    dir: "" is the root; it may come later. patterns: see globbing; none: all pages.
    """
    with changing(session) as journal:
        edit = _added(session, name, dir, patterns, description)
        return perform(session, journal, [edit], _told_of_directory(session, edit.after))


def preview_add_category(
    session: Session, name: str, dir: str = "", patterns: Sequence[str] = (), description: str | None = None
) -> Preview:
    """What add_category would do."""
    return preview_of([_added(session, name, dir, patterns, description)], f"The category {name} would be made.")


def remove_category(session: Session, name: str) -> Done:
    """Move a category to the trash, and take it out of all collections. Pages stay."""
    with changing(session) as journal:
        draft = _removed(session, name)
        return perform(
            session, journal, draft, f"Its file is in the trash for 30 days. {_told_of_users(draft)}".strip()
        )


def preview_remove_category(session: Session, name: str) -> Preview:
    """What remove_category would do."""
    draft = _removed(session, name)
    return preview_of(draft, f"The category {name} would go to the trash. {_told_of_users(draft)}".strip())


def change_category(
    session: Session,
    name: str,
    new_name: str | None = None,
    dir: str | None = None,
    patterns: Sequence[str] | None = None,
    description: str | None = None,
) -> Done:
    """
    Replace what a category is called, says or means; what is not given stays. Collections follow to the new name.

    description: "" takes it away. patterns: instead of all that it has.
    """
    with changing(session) as journal:
        draft = _changed(session, name, new_name, dir, patterns, description)
        return perform(session, journal, draft, _told_of_users(draft) or None)


def preview_change_category(
    session: Session,
    name: str,
    new_name: str | None = None,
    dir: str | None = None,
    patterns: Sequence[str] | None = None,
    description: str | None = None,
) -> Preview:
    """What change_category would do."""
    draft = _changed(session, name, new_name, dir, patterns, description)
    return preview_of(draft, f"The category {name} would be changed. {_told_of_users(draft)}".strip())


def update_category(
    session: Session, name: str, add_patterns: Sequence[str] | None = None, remove_patterns: Sequence[str] | None = None
) -> Done:
    """Take patterns out of a category, then put others at its end; one that it lacks may be taken out, too."""
    with changing(session) as journal:
        return perform(session, journal, [_updated(session, name, add_patterns, remove_patterns)])


def preview_update_category(
    session: Session, name: str, add_patterns: Sequence[str] | None = None, remove_patterns: Sequence[str] | None = None
) -> Preview:
    """What update_category would do."""
    edit = _updated(session, name, add_patterns, remove_patterns)
    return preview_of([edit], f"The patterns of the category {name} would be changed.")


def _added(
    session: Session, name: str, directory: str, patterns: Sequence[str], description: str | None
) -> Edit[Category]:
    check_new_name(session, CATEGORIES, name)
    said = checked_description(description)
    found = Category(name, _directory(session, directory), _checked(patterns), said, now())
    return made(CATEGORIES, found, Type.CATEGORY_ADDED)


def _removed(session: Session, name: str) -> Draft:
    kept = find(session, CATEGORIES, name)
    return [removed(CATEGORIES, kept, Type.CATEGORY_REMOVED), *_followers(session, kept.value.name, None)]


def _changed(
    session: Session,
    name: str,
    new_name: str | None,
    directory: str | None,
    patterns: Sequence[str] | None,
    description: str | None,
) -> Draft:
    check_asked(CATEGORIES, "change", new_name, directory, patterns, description)
    kept = find(session, CATEGORIES, name)
    if new_name is not None:
        check_other_name(session, CATEGORIES, kept.value.name, new_name)
    said = checked_description(description)
    where = _directory(session, directory) if directory is not None else None
    globs = _checked(patterns) if patterns is not None else None

    def change(old: Category) -> Category:
        return replace(
            old,
            name=new_name if new_name is not None else kept.value.name,
            directory=where if where is not None else old.directory,
            patterns=globs if globs is not None else old.patterns,
            description=said if description is not None else old.description,
        )

    edit = changed(CATEGORIES, kept, change, Type.CATEGORY_CHANGED)
    renamed = new_name is not None and new_name != kept.value.name
    return [edit, *(_followers(session, kept.value.name, new_name) if renamed else [])]


def _updated(session: Session, name: str, add: Sequence[str] | None, remove: Sequence[str] | None) -> Edit[Category]:
    check_asked(CATEGORIES, "update", add, remove)
    kept, added, gone = find(session, CATEGORIES, name), _checked(add or ()), set(remove or ())

    def change(old: Category) -> Category:
        return replace(old, patterns=once([*(one for one in old.patterns if one not in gone), *added]))

    return changed(CATEGORIES, kept, change, Type.CATEGORY_UPDATED)


def _followers(session: Session, name: str, new: str | None) -> list[Edit[Collection]]:
    """
    The collections that use the category *name*, with its *new* name in its place; None: without it.

    Raises Failed where a collection cannot be read, because it may use it.
    """

    def follow(old: Collection) -> Collection:
        named = [one if key_of(one) != key_of(name) else new for one in old.categories]
        return replace(old, categories=once((one for one in named if one is not None), folded=True))

    found, broken = every(session, COLLECTIONS)
    if broken:
        raise unreadable(COLLECTIONS, broken[0])
    users = [one for one in found if key_of(name) in map(key_of, one.value.categories)]
    return [changed(COLLECTIONS, one, follow, Type.COLLECTION_UPDATED, {"category": name}) for one in users]


def _told_of_users(draft: Draft) -> str:
    """Which collections a category's removal or new name changes."""
    users = [edit.after.name for edit in draft[1:] if edit.after is not None]
    return f"Collections that follow: {', '.join(users)}." if users else ""


def _told_of_directory(session: Session, category: Category | None) -> str | None:
    assert category is not None
    if not category.directory or paths.folder(session, category.directory) is not None:
        return None
    return f"There is no folder {category.directory!r} yet, so no page belongs to it."


def _directory(session: Session, directory: str) -> str:
    """Where a category's pages are, as the tree spells it. Raises Failed for what no folder can be called."""
    asked = directory.strip().rstrip("/")
    if asked in _ROOT:
        return ""
    return paths.folder(session, asked) or paths.checked(asked)


def _checked(patterns: Sequence[str]) -> tuple[str, ...]:
    found = once(patterns)
    for pattern in found:
        if (why := fault_in(pattern)) is not None:
            raise invalid("INVALID_PATTERN", f"The pattern {pattern!r} {why}.", _SYNTAX)
    if len(found) > MOST_PATTERNS:
        raise invalid("INVALID_PATTERN", f"There are {len(found)} patterns; {MOST_PATTERNS} are allowed.", _SYNTAX)
    return found
