"""Commands that list and change categories; collections that use them follow."""

from collections.abc import Sequence
from dataclasses import replace

from mirrord.commands.core import page_paths
from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.session import Session
from mirrord.domain.approval import Preview
from mirrord.domain.event import EventType
from mirrord.research.collections.collection_records import (
    CATEGORIES,
    COLLECTIONS,
    changing_records,
    check_any_change,
    check_new_name,
    check_other_name,
    checked_description,
    find_record,
    load_records,
    unreadable_record,
)
from mirrord.research.collections.collection_rules import Category, Collection, distinct_values, fault_in, key_of
from mirrord.research.collections.record_drafts import (
    MAX_LISTED_RECORDS,
    ChangedRecord,
    Draft,
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

MAX_PATTERNS = 100
_ROOT_NAMES = ("", ".")
_PATTERN_HELP = "Write patterns such as *.md, notes/**, drafts/ or !old-*, relative to dir."


def list_categories(
    session: Session, verbose: bool = False, cursor: str | None = None, limit: int | None = MAX_LISTED_RECORDS
) -> RecordList:
    """
    List categories, oldest first, at most *limit* in one answer; None: all.

    verbose: with file paths and creation times. cursor: from an answer to the same question, to continue it.
    """
    return list_records(session, CATEGORIES, cursor, limit, verbose=verbose)


def add_category(
    session: Session, name: str, dir: str = "", patterns: Sequence[str] = (), description: str | None = None
) -> ChangedRecord:
    """
    Create a category of the pages below a directory.

    dir: "" is the root; the directory may be created later. patterns: see globbing; none: all pages.
    """
    with changing_records(session) as journal:
        edit = _draft_addition(session, name, dir, patterns, description)
        return carry_out_draft(session, journal, [edit], _directory_warning(session, edit.after))


def preview_add_category(
    session: Session, name: str, dir: str = "", patterns: Sequence[str] = (), description: str | None = None
) -> Preview:
    """Preview add_category."""
    return preview_draft(
        [_draft_addition(session, name, dir, patterns, description)], f"The category {name} would be made."
    )


def remove_category(session: Session, name: str) -> ChangedRecord:
    """Move a category to the trash and remove it from all collections. Pages stay."""
    with changing_records(session) as journal:
        draft = _draft_removal(session, name)
        return carry_out_draft(
            session, journal, draft, f"Its file is in the trash for 30 days. {_users_sentence(draft)}".strip()
        )


def preview_remove_category(session: Session, name: str) -> Preview:
    """Preview remove_category."""
    draft = _draft_removal(session, name)
    return preview_draft(draft, f"The category {name} would go to the trash. {_users_sentence(draft)}".strip())


def change_category(
    session: Session,
    name: str,
    new_name: str | None = None,
    dir: str | None = None,
    patterns: Sequence[str] | None = None,
    description: str | None = None,
) -> ChangedRecord:
    """
    Change name, directory, patterns or description of a category; None keeps a value. Collections follow a new name.

    description: "" removes it. patterns: replace all present ones.
    """
    with changing_records(session) as journal:
        draft = _draft_change(session, name, new_name, dir, patterns, description)
        return carry_out_draft(session, journal, draft, _users_sentence(draft) or None)


def preview_change_category(
    session: Session,
    name: str,
    new_name: str | None = None,
    dir: str | None = None,
    patterns: Sequence[str] | None = None,
    description: str | None = None,
) -> Preview:
    """Preview change_category."""
    draft = _draft_change(session, name, new_name, dir, patterns, description)
    return preview_draft(draft, f"The category {name} would be changed. {_users_sentence(draft)}".strip())


def update_category(
    session: Session, name: str, add_patterns: Sequence[str] | None = None, remove_patterns: Sequence[str] | None = None
) -> ChangedRecord:
    """Remove patterns from a category, then append others; removing an absent pattern is no error."""
    with changing_records(session) as journal:
        return carry_out_draft(session, journal, [_draft_update(session, name, add_patterns, remove_patterns)])


def preview_update_category(
    session: Session, name: str, add_patterns: Sequence[str] | None = None, remove_patterns: Sequence[str] | None = None
) -> Preview:
    """Preview update_category."""
    edit = _draft_update(session, name, add_patterns, remove_patterns)
    return preview_draft([edit], f"The patterns of the category {name} would be changed.")


def _draft_addition(
    session: Session, name: str, directory: str, patterns: Sequence[str], description: str | None
) -> RecordEdit[Category]:
    check_new_name(session, CATEGORIES, name)
    checked_text = checked_description(description)
    category = Category(
        name, _checked_directory(session, directory), _checked_patterns(patterns), checked_text, creation_time()
    )
    return edit_to_create(CATEGORIES, category, EventType.CATEGORY_ADDED)


def _draft_removal(session: Session, name: str) -> Draft:
    record = find_record(session, CATEGORIES, name)
    return [
        edit_to_remove(CATEGORIES, record, EventType.CATEGORY_REMOVED),
        *_collection_edits(session, record.value.name, None),
    ]


def _draft_change(
    session: Session,
    name: str,
    new_name: str | None,
    directory: str | None,
    patterns: Sequence[str] | None,
    description: str | None,
) -> Draft:
    check_any_change(CATEGORIES, "change", new_name, directory, patterns, description)
    record = find_record(session, CATEGORIES, name)
    if new_name is not None:
        check_other_name(session, CATEGORIES, record.value.name, new_name)
    checked_text = checked_description(description)
    checked_directory = _checked_directory(session, directory) if directory is not None else None
    checked_patterns = _checked_patterns(patterns) if patterns is not None else None

    def change(old: Category) -> Category:
        return replace(
            old,
            name=new_name if new_name is not None else record.value.name,
            directory=checked_directory if checked_directory is not None else old.directory,
            patterns=checked_patterns if checked_patterns is not None else old.patterns,
            description=checked_text if description is not None else old.description,
        )

    edit = edit_to_change(CATEGORIES, record, change, EventType.CATEGORY_CHANGED)
    renamed = new_name is not None and new_name != record.value.name
    return [edit, *(_collection_edits(session, record.value.name, new_name) if renamed else [])]


def _draft_update(
    session: Session, name: str, add: Sequence[str] | None, remove: Sequence[str] | None
) -> RecordEdit[Category]:
    check_any_change(CATEGORIES, "update", add, remove)
    record, added, removals = find_record(session, CATEGORIES, name), _checked_patterns(add or ()), set(remove or ())

    def change(old: Category) -> Category:
        return replace(
            old, patterns=distinct_values([*(pattern for pattern in old.patterns if pattern not in removals), *added])
        )

    return edit_to_change(CATEGORIES, record, change, EventType.CATEGORY_UPDATED)


def _collection_edits(session: Session, name: str, new: str | None) -> list[RecordEdit[Collection]]:
    """
    Edits of the collections that use the category *name*: rename it to *new*; None: remove it.

    Raises Failed if a collection is unreadable, because it may use the category.
    """

    def follow(old: Collection) -> Collection:
        new_names = [name_or_none if key_of(name_or_none) != key_of(name) else new for name_or_none in old.categories]
        return replace(
            old,
            categories=distinct_values(
                (name_or_none for name_or_none in new_names if name_or_none is not None), folded=True
            ),
        )

    collections, broken = load_records(session, COLLECTIONS)
    if broken:
        raise unreadable_record(COLLECTIONS, broken[0])
    users = [name_or_none for name_or_none in collections if key_of(name) in map(key_of, name_or_none.value.categories)]
    return [
        edit_to_change(COLLECTIONS, name_or_none, follow, EventType.COLLECTION_UPDATED, {"category": name})
        for name_or_none in users
    ]


def _users_sentence(draft: Draft) -> str:
    """Sentence naming the collections changed by a removal or rename, or ""."""
    users = [edit.after.name for edit in draft[1:] if edit.after is not None]
    return f"Collections that follow: {', '.join(users)}." if users else ""


def _directory_warning(session: Session, category: Category | None) -> str | None:
    assert category is not None
    if not category.directory or page_paths.find_directory(session, category.directory) is not None:
        return None
    return f"There is no folder {category.directory!r} yet, so no page belongs to it."


def _checked_directory(session: Session, directory: str) -> str:
    """Directory of a category in the spelling of the tree. Raises Failed for an invalid folder name."""
    stripped = directory.strip().rstrip("/")
    if stripped in _ROOT_NAMES:
        return ""
    return page_paths.find_directory(session, stripped) or page_paths.validate_path(stripped)


def _checked_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    distinct = distinct_values(patterns)
    for pattern in distinct:
        if (why := fault_in(pattern)) is not None:
            raise invalid_argument("INVALID_PATTERN", f"The pattern {pattern!r} {why}.", _PATTERN_HELP)
    if len(distinct) > MAX_PATTERNS:
        raise invalid_argument(
            "INVALID_PATTERN", f"There are {len(distinct)} patterns; {MAX_PATTERNS} are allowed.", _PATTERN_HELP
        )
    return distinct
