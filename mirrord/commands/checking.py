"""Checks of names, descriptions and references of categories and collections, with the documented errors."""

from collections.abc import Sequence
from difflib import get_close_matches

from mirrord.commands.failure import Failed, invalid_argument
from mirrord.commands.records import (
    CATEGORIES,
    MAX_QUOTED_CHARACTERS,
    Shelf,
    V,
    existing_names,
    find_spelling,
    list_names,
)
from mirrord.commands.session import Session
from mirrord.domain.collection import (
    MAX_DESCRIPTION_CHARACTERS,
    distinct_values,
    find_control_character,
    find_quote,
    is_valid_name,
    key_of,
)

MAX_CATEGORIES = 200  # of a collection
_NAME_RULE = (
    "A name has 1 to 30 letters (A-Z, a-z), digits, - and _, and neither of these at an end, such as field-notes."
)


def check_new_name(session: Session, shelf: Shelf[V], name: str) -> None:
    """Raises Failed, INVALID_NAME or ALREADY_EXISTS, unless a record *name* can be created."""
    check_name(shelf, name)
    if (existing := find_spelling(session, shelf, name)) is not None:
        raise Failed(
            "ALREADY_EXISTS",
            "already_exists",
            f"There is a {shelf.kind} {existing!r} already.",
            f"Use {shelf.kind}_change or {shelf.kind}_update to change it, or choose another name.",
        )


def check_other_name(session: Session, shelf: Shelf[V], name: str, new: str) -> None:
    """Raises Failed, INVALID_NAME or NAME_CONFLICT, unless the record *name* can be renamed to *new*."""
    check_name(shelf, new)
    existing = find_spelling(session, shelf, new)
    if existing is not None and key_of(existing) != key_of(name):
        raise Failed(
            "NAME_CONFLICT",
            "name_conflict",
            f"There is a {shelf.kind} {existing!r} already.",
            "Choose another new_name.",
        )


def check_name(shelf: Shelf[V], name: str) -> None:
    """Raises Failed, INVALID_NAME, for an invalid name."""
    if not is_valid_name(name):
        raise Failed(
            "INVALID_NAME",
            "invalid_name",
            f"{name[:MAX_QUOTED_CHARACTERS]!r} is no name of a {shelf.kind}.",
            _NAME_RULE,
        )


def checked_description(description: str | None) -> str | None:
    """*description*; None where it is empty. Raises Failed, DESCRIPTION_TOO_LONG or INVALID_CHARACTERS."""
    if not description:
        return None
    if len(description) > MAX_DESCRIPTION_CHARACTERS:
        sentence = f"The description has {len(description)} characters; {MAX_DESCRIPTION_CHARACTERS} are allowed."
        raise Failed("DESCRIPTION_TOO_LONG", "description_too_long", sentence, "Shorten it.")
    if (quote := find_quote(description)) is not None:
        raise _invalid_characters(f"The description holds a quote, {quote} at character {description.index(quote)}.")
    if (place := find_control_character(description)) is not None:
        raise _invalid_characters(f"Character {place} of the description is no character of a text.")
    return description


def checked_categories(session: Session, requested: Sequence[str]) -> tuple[str, ...]:
    """
    *requested* in the spelling of the categories, each once. Raises Failed, CATEGORY_NOT_FOUND, naming all missing.
    """
    if len(requested) > MAX_CATEGORIES:
        sentence = f"There are {len(requested)} categories; {MAX_CATEGORIES} are allowed."
        raise invalid_argument("INVALID_ARGUMENTS", sentence, "Make fewer, wider categories, or several collections.")
    spelling_by_key = {key_of(name): name for name in list_names(session, CATEGORIES)}
    distinct = distinct_values(requested, folded=True)
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


def check_any_change(shelf: Shelf[V], verb: str, *changes: object) -> None:
    """Raises Failed if nothing is to change."""
    if all(change is None for change in changes):
        instruction = f"Say what is to change; {shelf.kind}_list shows what there is."
        raise invalid_argument("INVALID_ARGUMENTS", f"{shelf.kind}_{verb} was given nothing to change.", instruction)


def _invalid_characters(sentence: str) -> Failed:
    return Failed("INVALID_CHARACTERS", "invalid_characters", sentence, "Leave that character out.")
