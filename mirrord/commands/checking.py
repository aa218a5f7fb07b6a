"""Checks of names, descriptions and references of categories and collections, with the documented errors."""

from collections.abc import Sequence
from difflib import get_close_matches

from mirrord.commands.failure import Failed, invalid
from mirrord.commands.records import CATEGORIES, LONGEST_NAME, Shelf, V, listing, names, spelled
from mirrord.commands.session import Session
from mirrord.domain.collection import LONGEST_DESCRIPTION, is_name, key_of, misfit_in, once, quote_in

MOST_CATEGORIES = 200  # of a collection
_NAME_RULE = (
    "A name has 1 to 30 letters (A-Z, a-z), digits, - and _, and neither of these at an end, such as field-notes."
)


def check_new_name(session: Session, shelf: Shelf[V], name: str) -> None:
    """Raises Failed, INVALID_NAME or ALREADY_EXISTS, unless a record *name* can be created."""
    check_name(shelf, name)
    if (existing := spelled(session, shelf, name)) is not None:
        raise Failed(
            "ALREADY_EXISTS",
            "already_exists",
            f"There is a {shelf.kind} {existing!r} already.",
            f"Use {shelf.kind}_change or {shelf.kind}_update to change it, or choose another name.",
        )


def check_other_name(session: Session, shelf: Shelf[V], name: str, new: str) -> None:
    """Raises Failed, INVALID_NAME or NAME_CONFLICT, unless the record *name* can be renamed to *new*."""
    check_name(shelf, new)
    existing = spelled(session, shelf, new)
    if existing is not None and key_of(existing) != key_of(name):
        raise Failed(
            "NAME_CONFLICT",
            "name_conflict",
            f"There is a {shelf.kind} {existing!r} already.",
            "Choose another new_name.",
        )


def check_name(shelf: Shelf[V], name: str) -> None:
    """Raises Failed, INVALID_NAME, for an invalid name."""
    if not is_name(name):
        raise Failed(
            "INVALID_NAME", "invalid_name", f"{name[:LONGEST_NAME]!r} is no name of a {shelf.kind}.", _NAME_RULE
        )


def checked_description(description: str | None) -> str | None:
    """*description*; None where it is empty. Raises Failed, DESCRIPTION_TOO_LONG or INVALID_CHARACTERS."""
    if not description:
        return None
    if len(description) > LONGEST_DESCRIPTION:
        sentence = f"The description has {len(description)} characters; {LONGEST_DESCRIPTION} are allowed."
        raise Failed("DESCRIPTION_TOO_LONG", "description_too_long", sentence, "Shorten it.")
    if (quote := quote_in(description)) is not None:
        raise _invalid_characters(f"The description holds a quote, {quote} at character {description.index(quote)}.")
    if (place := misfit_in(description)) is not None:
        raise _invalid_characters(f"Character {place} of the description is no character of a text.")
    return description


def checked_categories(session: Session, wanted: Sequence[str]) -> tuple[str, ...]:
    """*wanted* in the spelling of the categories, each once. Raises Failed, CATEGORY_NOT_FOUND, naming all missing."""
    if len(wanted) > MOST_CATEGORIES:
        sentence = f"There are {len(wanted)} categories; {MOST_CATEGORIES} are allowed."
        raise invalid("INVALID_ARGUMENTS", sentence, "Make fewer, wider categories, or several collections.")
    spelling_by_key = {key_of(name): name for name in names(session, CATEGORIES)}
    distinct = once(wanted, folded=True)
    missing = [name[:LONGEST_NAME] for name in distinct if key_of(name) not in spelling_by_key]
    if missing:
        existing = list(spelling_by_key.values())
        nearest = once(nearest_name for name in missing for nearest_name in get_close_matches(name, existing, 1, 0.5))
        missing_names = ", ".join(repr(name) for name in missing)
        raise Failed(
            "CATEGORY_NOT_FOUND",
            "category_not_found",
            f"There {'is no category' if len(missing) == 1 else 'are no categories'} {missing_names}.",
            f"{listing(CATEGORIES, existing, list(nearest))} Make what is missing with category_add.",
            {"missing": missing},
        )
    return tuple(spelling_by_key[key_of(name)] for name in distinct)


def check_asked(shelf: Shelf[V], verb: str, *changes: object) -> None:
    """Raises Failed if nothing is to change."""
    if all(change is None for change in changes):
        instruction = f"Say what is to change; {shelf.kind}_list shows what there is."
        raise invalid("INVALID_ARGUMENTS", f"{shelf.kind}_{verb} was given nothing to change.", instruction)


def _invalid_characters(sentence: str) -> Failed:
    return Failed("INVALID_CHARACTERS", "invalid_characters", sentence, "Leave that character out.")
