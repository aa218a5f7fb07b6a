"""Category and collection files, read and changed under one lock, and their validation."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

from mirrord.commands.core.failure import Failed, Kind, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, digest_of
from mirrord.domain.place import name_of_record
from mirrord.errors import Busy, Damaged
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.tree_locks import RECORDS_LOCK_SECONDS, records_lock
from mirrord.research.collections.collection_rules import (
    CATEGORIES,
    MAX_DESCRIPTION_CHARACTERS,
    GroupKind,
    PageGroup,
    distinct_values,
    find_control_character,
    find_quote,
    is_valid_name,
    key_of,
    sorted_names,
)
from mirrord.research.collections.collection_yaml import read_group

_PROMISED: Mapping[str, Kind] = {  # by codes
    **dict.fromkeys(("BUSY", "CONFLICT"), "lock_error"),
    **dict.fromkeys(("UNAVAILABLE", "DISK_FULL", "REFUSED", "INVALID_PAGE"), "write_error"),
}
MAX_QUOTED_CHARACTERS = 60  # characters of an unknown name in a sentence
_MAX_NAMES = 20  # names in a sentence


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A readable record in its current state."""

    path: str
    text: str
    digest: Digest
    value: PageGroup


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """An unreadable record. problem: the reason, with the line. is_busy: it is only being written."""

    name: str
    problem: str
    is_busy: bool = False


@contextmanager
def changing_records(session: Session) -> Iterator[Journal]:
    """
    Hold the lock of all records within a `with` block; yields the journal for changes.

    File errors inside are raised as the documented tool errors: `lock_error` if another program holds the lock for
    two seconds or saves in between, else `write_error`.
    """
    end = time.monotonic() + RECORDS_LOCK_SECONDS
    try:
        with (
            translating_errors(),
            session.writing(RECORDS_LOCK_SECONDS) as journal,
            records_lock(session.tree, max(end - time.monotonic(), 0.0)),
        ):
            yield journal
    except Failed as failed:
        raise _to_promised(failed) from failed
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        sentence = f"The file system refused: {error.strerror}."
        raise Failed("WRITE_ERROR", "write_error", sentence, "Look at `.records`, then try again.") from error


def _to_promised(failed: Failed) -> Failed:
    kind = _PROMISED.get(failed.code, failed.kind)
    return Failed(failed.code, kind, str(failed), failed.instruction, failed.facts)


def list_names(session: Session, kind: GroupKind) -> list[str]:
    """Names of all records of this kind, readable or not, sorted."""
    try:
        with translating_errors():
            stats = session.tree.list_stats(parent_of(kind.path("x")))
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = {file: f"{parent_of(kind.path('x'))}/{file}" for file, stat in stats.items() if stat.is_file}
    record_names = [name.partition("/")[2] for path in paths.values() if (name := name_of_record(path)) is not None]
    return sorted(record_names, key=lambda name: (key_of(name), name))


def find_spelling(session: Session, kind: GroupKind, name: str) -> str | None:
    """The spelling of the record *name*, ignoring case, or None."""
    existing = list_names(session, kind)
    return (
        name
        if name in existing
        else next((candidate for candidate in existing if key_of(candidate) == key_of(name)), None)
    )


def find_record(session: Session, kind: GroupKind, name: str) -> StoredRecord:
    """The record *name*, ignoring case. Raises Failed, NOT_FOUND, or UNREADABLE for a record broken by an edit."""
    with translating_errors():
        spelling = find_spelling(session, kind, name)
        record = load_record(session, kind, spelling) if spelling is not None else None
    if record is None:
        raise _not_found(session, kind, name)
    if isinstance(record, UnreadableRecord):
        raise unreadable_record(kind, record)
    return record


def load_record(session: Session, kind: GroupKind, name: str) -> StoredRecord | UnreadableRecord | None:
    """The record with exactly this name, or None."""
    path = kind.path(name)
    try:
        data, _ = session.tree.read(path, MAX_FILE_BYTES)
        text = decode(data)
        return StoredRecord(path, text, digest_of(data), read_group(kind, name, text))
    except FileNotFoundError:
        return None
    except (Damaged, Busy) as error:
        return UnreadableRecord(name, str(error).rstrip("."), isinstance(error, Busy))


def load_records(session: Session, kind: GroupKind) -> tuple[list[StoredRecord], list[UnreadableRecord]]:
    """All records of this kind in list order, and the unreadable ones."""
    with translating_errors():
        loaded = [load_record(session, kind, name) for name in list_names(session, kind)]
    readable = {record.value.name: record for record in loaded if isinstance(record, StoredRecord)}
    broken = [record for record in loaded if isinstance(record, UnreadableRecord)]
    return [readable[name] for name in sorted_names(record.value for record in readable.values())], broken


def unreadable_record(kind: GroupKind, broken: UnreadableRecord) -> Failed:
    """Failure for an unreadable record, which is not overwritten because a person has to mend it."""
    path = kind.path(broken.name)
    if broken.is_busy:
        return Failed("BUSY", "lock_error", f"{broken.problem}.", "Try again in a moment.", {"path": path})
    return Failed(
        "UNREADABLE",
        "write_error",
        f"The {kind.name} {broken.name} cannot be read: {path}, {broken.problem}.",
        f"Ask the person to mend that line of {path}; the file is not overwritten.",
        {"path": path},
    )


def _not_found(session: Session, kind: GroupKind, name: str) -> Failed:
    existing = list_names(session, kind)
    return Failed(
        "NOT_FOUND",
        "not_found",
        f"There is no {kind.name} {name[:MAX_QUOTED_CHARACTERS]!r}.",
        existing_names(kind, existing, get_close_matches(name[:MAX_QUOTED_CHARACTERS], existing, 3, 0.5)),
    )


def existing_names(kind: GroupKind, existing: list[str], nearest: list[str]) -> str:
    """Instruction that lists the existing records."""
    suggestion = f"Did you mean {' or '.join(nearest)}? " if nearest else ""
    remainder = f" and {len(existing) - _MAX_NAMES} more" if len(existing) > _MAX_NAMES else ""
    overview = (
        f"There are: {', '.join(existing[:_MAX_NAMES])}{remainder}." if existing else f"There are no {kind.plural} yet."
    )
    return f"{suggestion}{overview}"


MAX_CATEGORIES = 200  # of a collection
_NAME_RULE = (
    "A name has 1 to 30 letters (A-Z, a-z), digits, - and _, and neither of these at an end, such as field-notes."
)


def check_new_name(session: Session, kind: GroupKind, name: str) -> None:
    """Raises Failed, INVALID_NAME or ALREADY_EXISTS, unless a record *name* can be created."""
    check_name(kind, name)
    if (existing := find_spelling(session, kind, name)) is not None:
        raise Failed(
            "ALREADY_EXISTS",
            "already_exists",
            f"There is a {kind.name} {existing!r} already.",
            f"Use {kind.name}_change or {kind.name}_update to change it, or choose another name.",
        )


def check_other_name(session: Session, kind: GroupKind, name: str, new: str) -> None:
    """Raises Failed, INVALID_NAME or NAME_CONFLICT, unless the record *name* can be renamed to *new*."""
    check_name(kind, new)
    existing = find_spelling(session, kind, new)
    if existing is not None and key_of(existing) != key_of(name):
        raise Failed(
            "NAME_CONFLICT",
            "name_conflict",
            f"There is a {kind.name} {existing!r} already.",
            "Choose another new_name.",
        )


def check_name(kind: GroupKind, name: str) -> None:
    """Raises Failed, INVALID_NAME, for an invalid name."""
    if not is_valid_name(name):
        raise Failed(
            "INVALID_NAME",
            "invalid_name",
            f"{name[:MAX_QUOTED_CHARACTERS]!r} is no name of a {kind.name}.",
            _NAME_RULE,
        )


def check_description(description: str | None) -> None:
    """Raises Failed, DESCRIPTION_TOO_LONG or INVALID_CHARACTERS, for an invalid description."""
    if not description:
        return
    if len(description) > MAX_DESCRIPTION_CHARACTERS:
        sentence = f"The description has {len(description)} characters; {MAX_DESCRIPTION_CHARACTERS} are allowed."
        raise Failed("DESCRIPTION_TOO_LONG", "description_too_long", sentence, "Shorten it.")
    if (quote := find_quote(description)) is not None:
        raise _invalid_characters(f"The description holds a quote, {quote} at character {description.index(quote)}.")
    if (place := find_control_character(description)) is not None:
        raise _invalid_characters(f"Character {place} of the description is no character of a text.")


def checked_categories(session: Session, requested: Sequence[str]) -> tuple[str, ...]:
    """
    *requested* in the spelling of the categories, each once. Raises Failed, CATEGORY_NOT_FOUND, naming all missing.
    """
    if len(requested) > MAX_CATEGORIES:
        sentence = f"There are {len(requested)} categories; {MAX_CATEGORIES} are allowed."
        raise invalid_argument("INVALID_ARGUMENTS", sentence, "Make fewer, wider categories, or several collections.")
    spelling_by_key = {key_of(name): name for name in list_names(session, CATEGORIES)}
    distinct = distinct_values(requested, key_of)
    missing = [name[:MAX_QUOTED_CHARACTERS] for name in distinct if key_of(name) not in spelling_by_key]
    if missing:
        existing = list(spelling_by_key.values())
        nearest = distinct_values(
            nearest_name for name in missing for nearest_name in get_close_matches(name, existing, 1, 0.5)
        )
        missing_names = ", ".join(repr(name) for name in missing)
        raise Failed(
            "CATEGORY_NOT_FOUND",
            "category_not_found",
            f"There {'is no category' if len(missing) == 1 else 'are no categories'} {missing_names}.",
            f"{existing_names(CATEGORIES, existing, list(nearest))} Make what is missing with category_add.",
            {"missing": missing},
        )
    return tuple(spelling_by_key[key_of(name)] for name in distinct)


def check_any_change(kind: GroupKind, verb: str, *changes: object) -> None:
    """Raises Failed if nothing is to change."""
    if all(change is None for change in changes):
        instruction = f"Say what is to change; {kind.name}_list shows what there is."
        raise invalid_argument("INVALID_ARGUMENTS", f"{kind.name}_{verb} was given nothing to change.", instruction)


def _invalid_characters(sentence: str) -> Failed:
    return Failed("INVALID_CHARACTERS", "invalid_characters", sentence, "Leave that character out.")
