"""Commands that change categories and collections; collections follow the categories they use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from mirrord.commands.core import page_paths
from mirrord.commands.core.command_plan import Command, Plan, command
from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.session import Session
from mirrord.research.collections.collection_records import (
    changing_records,
    check_any_change,
    check_description,
    check_new_name,
    check_other_name,
    checked_categories,
    find_record,
    load_records,
    unreadable_record,
)
from mirrord.research.collections.collection_rules import (
    CATEGORIES,
    COLLECTIONS,
    GroupKind,
    PageGroup,
    distinct_values,
    key_of,
)
from mirrord.research.collections.group_scope import check_change, check_whole_tenant
from mirrord.research.collections.record_drafts import (
    ChangedRecord,
    GroupPlan,
    RecordEdit,
    creation_time,
    edit_to_change,
    edit_to_create,
    edit_to_remove,
)

MAX_PATTERNS = 100
_ROOT_NAMES = ("", ".")
_PATTERN_HELP = "Write patterns such as *.md, notes/**, drafts/ or !old-*, relative to dir."


@dataclass(frozen=True, slots=True)
class _Content:
    """
    Requested content of a group; None keeps a value.

    description: "" removes it. members: all of them. directory: "" is the root; it may be created later.
    """

    description: str | None = None
    members: Sequence[str] | None = None
    directory: str | None = None


@command("category_add", lock=changing_records)
def add_category(
    session: Session, name: str, dir: str = "", patterns: Sequence[str] = (), description: str | None = None
) -> Plan[ChangedRecord]:
    """Create a category of the pages below a directory. patterns: see globbing; none: all pages."""
    return _plan_addition(session, CATEGORIES, name, _Content(description, patterns, dir))


@command("category_remove", lock=changing_records)
def remove_category(session: Session, name: str) -> Plan[ChangedRecord]:
    """Move a category to the trash and remove it from all collections. Pages stay."""
    return _plan_removal(session, CATEGORIES, name)


@command("category_change", lock=changing_records)
def change_category(
    session: Session,
    name: str,
    new_name: str | None = None,
    dir: str | None = None,
    patterns: Sequence[str] | None = None,
    description: str | None = None,
) -> Plan[ChangedRecord]:
    """Change name, directory, patterns or description of a category. Collections follow a new name."""
    return _plan_change(session, CATEGORIES, name, new_name, _Content(description, patterns, dir))


@command("category_update", lock=changing_records)
def update_category(
    session: Session, name: str, add_patterns: Sequence[str] | None = None, remove_patterns: Sequence[str] | None = None
) -> Plan[ChangedRecord]:
    """Remove patterns from a category, then append others."""
    return _plan_update(session, CATEGORIES, name, add_patterns, remove_patterns)


@command("collection_add", lock=changing_records)
def add_collection(
    session: Session, name: str, description: str | None = None, categories: Sequence[str] = ()
) -> Plan[ChangedRecord]:
    """Create a collection of existing categories."""
    return _plan_addition(session, COLLECTIONS, name, _Content(description, categories))


@command("collection_remove", lock=changing_records)
def remove_collection(session: Session, name: str) -> Plan[ChangedRecord]:
    """Move a collection to the trash; its categories stay."""
    return _plan_removal(session, COLLECTIONS, name)


@command("collection_change", lock=changing_records)
def change_collection(
    session: Session,
    name: str,
    new_name: str | None = None,
    description: str | None = None,
    categories: Sequence[str] | None = None,
) -> Plan[ChangedRecord]:
    """Change name, description or categories of a collection."""
    return _plan_change(session, COLLECTIONS, name, new_name, _Content(description, categories))


@command("collection_update", lock=changing_records)
def update_collection(
    session: Session,
    name: str,
    add_categories: Sequence[str] | None = None,
    remove_categories: Sequence[str] | None = None,
) -> Plan[ChangedRecord]:
    """Remove categories from a collection, then append others."""
    return _plan_update(session, COLLECTIONS, name, add_categories, remove_categories)


_ALL_COMMANDS: tuple[Command[..., ChangedRecord], ...] = (
    *(add_collection, remove_collection, change_collection, update_collection),
    *(add_category, remove_category, change_category, update_category),
)
GROUP_COMMANDS: Mapping[str, Command[..., ChangedRecord]] = MappingProxyType(
    {command.name: command for command in _ALL_COMMANDS}
)


def _plan_addition(session: Session, kind: GroupKind, name: str, content: _Content) -> GroupPlan:
    """Create a group; what *content* lacks is empty."""
    check_whole_tenant(session, kind)
    check_new_name(session, kind, name)
    checked = _checked_content(session, kind, content)
    group = replace(_with_content(PageGroup(name), checked), created=creation_time())
    warning = _directory_warning(session, group.directory)
    return GroupPlan([edit_to_create(kind, group)], f"The {kind.name} {name} would be made.", warning)


def _plan_removal(session: Session, kind: GroupKind, name: str) -> GroupPlan:
    """Move a group to the trash; collections lose a category."""
    check_whole_tenant(session, kind)
    record = find_record(session, kind, name)
    followers = _follower_edits(session, kind, record.value.name, None)
    return GroupPlan(
        [edit_to_remove(kind, record), *followers],
        _join(f"The {kind.name} {name} would go to the trash{kind.stays}.", _followers_sentence(followers)),
        _join(f"Its file is in the trash for 30 days{kind.stays}.", _followers_sentence(followers)),
    )


def _plan_change(session: Session, kind: GroupKind, name: str, new_name: str | None, content: _Content) -> GroupPlan:
    """Change name or content of a group; None keeps the name. Collections follow the new name of a category."""
    check_any_change(kind, "change", new_name, content.directory, content.members, content.description)
    if new_name is not None:
        check_whole_tenant(session, kind)
    record = find_record(session, kind, name)
    old_name = record.value.name
    if new_name is not None:
        check_other_name(session, kind, old_name, new_name)
    checked, name_after = _checked_content(session, kind, content), old_name if new_name is None else new_name
    edit = edit_to_change(kind, record, lambda old: replace(_with_content(old, checked), name=name_after), "Changed")
    _check_rights(session, edit)
    followers = _follower_edits(session, kind, old_name, name_after) if name_after != old_name else []
    sentence = _followers_sentence(followers)
    return GroupPlan([edit, *followers], _join(f"The {kind.name} {name} would be changed.", sentence), sentence or None)


def _plan_update(
    session: Session, kind: GroupKind, name: str, add: Sequence[str] | None, remove: Sequence[str] | None
) -> GroupPlan:
    """Remove members from a group, then append others; removing an absent one is no error."""
    check_any_change(kind, "update", add, remove)
    record = find_record(session, kind, name)
    added, removals = _checked_members(session, kind, add or ()), set(map(kind.member_key, remove or ()))

    def change(old: PageGroup) -> PageGroup:
        remaining = [member for member in old.members if kind.member_key(member) not in removals]
        return replace(old, members=distinct_values([*remaining, *added], kind.member_key))

    edit = edit_to_change(kind, record, change, "Updated")
    _check_rights(session, edit)
    return GroupPlan([edit], f"The {kind.members} of the {kind.name} {name} would be changed.")


def _check_rights(session: Session, edit: RecordEdit) -> None:
    if edit.before is not None and edit.after is not None:
        check_change(session, edit.kind, edit.before.value, edit.after)


def _follower_edits(session: Session, kind: GroupKind, name: str, new: str | None) -> list[RecordEdit]:
    """
    Edits of the collections that use the category *name*: rename it to *new*; None: remove it.

    Raises Failed if a collection is unreadable, because it may use the category.
    """
    if kind is not CATEGORIES:
        return []

    def follow(old: PageGroup) -> PageGroup:
        new_names = [category if key_of(category) != key_of(name) else new for category in old.members]
        return replace(
            old, members=distinct_values((category for category in new_names if category is not None), key_of)
        )

    collections, broken = load_records(session, COLLECTIONS)
    if broken:
        raise unreadable_record(COLLECTIONS, broken[0])
    users = [record for record in collections if key_of(name) in map(key_of, record.value.members)]
    return [edit_to_change(COLLECTIONS, record, follow, "Updated", {"category": name}) for record in users]


def _followers_sentence(followers: Sequence[RecordEdit]) -> str:
    """Sentence naming the collections changed by a removal or rename, or ""."""
    names = [edit.after.name for edit in followers if edit.after is not None]
    return f"Collections that follow: {', '.join(names)}." if names else ""


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _with_content(group: PageGroup, content: _Content) -> PageGroup:
    """*group* with content that was checked."""
    return replace(
        group,
        members=tuple(content.members) if content.members is not None else group.members,
        directory=content.directory if content.directory is not None else group.directory,
        description=content.description or None if content.description is not None else group.description,
    )


def _checked_content(session: Session, kind: GroupKind, content: _Content) -> _Content:
    """*content* in the spelling of the tree. Raises Failed."""
    check_description(content.description)
    return _Content(
        content.description,
        directory=_checked_directory(session, content.directory) if content.directory is not None else None,
        members=_checked_members(session, kind, content.members) if content.members is not None else None,
    )


def _checked_directory(session: Session, directory: str) -> str:
    """Directory of a category in the spelling of the tree. Raises Failed for an invalid folder name."""
    stripped = directory.strip().rstrip("/")
    if stripped in _ROOT_NAMES:
        return ""
    return page_paths.find_directory(session, stripped) or page_paths.validate_path(stripped)


def _directory_warning(session: Session, directory: str) -> str | None:
    if not directory or page_paths.find_directory(session, directory) is not None:
        return None
    return f"There is no folder {directory!r} yet, so no page belongs to it."


def _checked_members(session: Session, kind: GroupKind, members: Sequence[str]) -> tuple[str, ...]:
    return checked_categories(session, members) if kind is COLLECTIONS else _checked_patterns(members)


def _checked_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    distinct = distinct_values(patterns)
    for pattern in distinct:
        if (why := CATEGORIES.fault_in(pattern)) is not None:
            raise invalid_argument("INVALID_PATTERN", f"The pattern {pattern!r} {why}.", _PATTERN_HELP)
    if len(distinct) > MAX_PATTERNS:
        raise invalid_argument(
            "INVALID_PATTERN", f"There are {len(distinct)} patterns; {MAX_PATTERNS} are allowed.", _PATTERN_HELP
        )
    return distinct
