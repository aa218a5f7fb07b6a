"""Names, descriptions and references that categories and collections cannot have, by the types agents were promised."""

from collections.abc import Sequence
from difflib import get_close_matches

from mirrord.commands.failure import Failed, invalid
from mirrord.commands.records import CATEGORIES, LONGEST_NAME, Shelf, V, listing, names, spelled
from mirrord.commands.session import Session
from mirrord.domain.collection import LONGEST_DESCRIPTION, is_name, key_of, misfit_in, once, quote_in

MOST_CATEGORIES = 200  # of a collection
_RULE = "A name has 1 to 30 letters (A-Z, a-z), digits, - and _, and neither of these at an end, such as field-notes."


def check_new_name(session: Session, shelf: Shelf[V], name: str) -> None:
    """Raises Failed, INVALID_NAME or ALREADY_EXISTS, unless a record can be made under *name*."""
    check_name(shelf, name)
    if (taken := spelled(session, shelf, name)) is not None:
        raise Failed(
            "ALREADY_EXISTS",
            "already_exists",
            f"There is a {shelf.kind} {taken!r} already.",
            f"Use {shelf.kind}_change or {shelf.kind}_update to change it, or choose another name.",
        )


def check_other_name(session: Session, shelf: Shelf[V], name: str, new: str) -> None:
    """Raises Failed, INVALID_NAME or NAME_CONFLICT, unless the record *name* can be called *new*."""
    check_name(shelf, new)
    taken = spelled(session, shelf, new)
    if taken is not None and key_of(taken) != key_of(name):
        raise Failed(
            "NAME_CONFLICT", "name_conflict", f"There is a {shelf.kind} {taken!r} already.", "Choose another new_name."
        )


def check_name(shelf: Shelf[V], name: str) -> None:
    """Raises Failed, INVALID_NAME, for what nothing can be called."""
    if not is_name(name):
        raise Failed("INVALID_NAME", "invalid_name", f"{name[:LONGEST_NAME]!r} is no name of a {shelf.kind}.", _RULE)


def checked_description(description: str | None) -> str | None:
    """*description*; None where it is empty. Raises Failed, DESCRIPTION_TOO_LONG or INVALID_CHARACTERS."""
    if not description:
        return None
    if len(description) > LONGEST_DESCRIPTION:
        sentence = f"The description has {len(description)} characters; {LONGEST_DESCRIPTION} are allowed."
        raise Failed("DESCRIPTION_TOO_LONG", "description_too_long", sentence, "Shorten it.")
    if (quote := quote_in(description)) is not None:
        raise _characters(f"The description holds a quote, {quote} at character {description.index(quote)}.")
    if (place := misfit_in(description)) is not None:
        raise _characters(f"Character {place} of the description is no character of a text.")
    return description


def checked_categories(session: Session, wanted: Sequence[str]) -> tuple[str, ...]:
    """*wanted* as the categories are spelled, each once. Raises Failed, CATEGORY_NOT_FOUND, that names all missing."""
    if len(wanted) > MOST_CATEGORIES:
        sentence = f"There are {len(wanted)} categories; {MOST_CATEGORIES} are allowed."
        raise invalid("INVALID_ARGUMENTS", sentence, "Make fewer, wider categories, or several collections.")
    known = {key_of(name): name for name in names(session, CATEGORIES)}
    asked = once(wanted, folded=True)
    missing = [name[:LONGEST_NAME] for name in asked if key_of(name) not in known]
    if missing:
        there = list(known.values())
        nearest = once(one for name in missing for one in get_close_matches(name, there, 1, 0.5))
        listed = ", ".join(repr(name) for name in missing)
        raise Failed(
            "CATEGORY_NOT_FOUND",
            "category_not_found",
            f"There {'is no category' if len(missing) == 1 else 'are no categories'} {listed}.",
            f"{listing(CATEGORIES, there, list(nearest))} Make what is missing with category_add.",
            {"missing": missing},
        )
    return tuple(known[key_of(name)] for name in asked)


def check_asked(shelf: Shelf[V], verb: str, *given: object) -> None:
    """Raises Failed if nothing is to change."""
    if all(one is None for one in given):
        instruction = f"Say what is to change; {shelf.kind}_list shows what there is."
        raise invalid("INVALID_ARGUMENTS", f"{shelf.kind}_{verb} was given nothing to change.", instruction)


def _characters(sentence: str) -> Failed:
    return Failed("INVALID_CHARACTERS", "invalid_characters", sentence, "Leave that character out.")
