"""Names of folders and sources: usable unchanged in the tree, and free in their folder."""

import unicodedata

from mirrord.commands import paths, siblings
from mirrord.commands.failure import Failed, invalid_argument
from mirrord.commands.holdings import Folder
from mirrord.commands.session import Session
from mirrord.domain.place import clean_name, name_key
from mirrord.mirror.layout import SUFFIX, is_text

_MAX_NAME_CHARACTERS = 255  # characters
_USE_OTHER_NAME = "Use another name, or put it elsewhere."


def validate_name(name: str, code: str) -> str:
    """*name* in the composition the tree uses. Raises Failed, `CODE/INVALID_NAME`, for an invalid name."""
    if not is_text(name):
        raise invalid_argument(f"{code}/INVALID_NAME", "The name is not Unicode text.", "Send plain text.")
    composed = unicodedata.normalize("NFC", name)
    if (reason := _objection_to(composed)) is None:
        return composed
    proposal = clean_name(composed.removesuffix(SUFFIX), "1")
    sentence = f"The name {composed[:_MAX_NAME_CHARACTERS]!r} {reason}."
    raise invalid_argument(f"{code}/INVALID_NAME", sentence, f"Use another name, such as {proposal!r}.")


def check_free(session: Session, directory: str, name: str, code: str, level: Folder | None) -> None:
    """Raises Failed, `CODE/DUPLICATE_NAME`, if *directory*, that of *level*, has an entry with an equal name key."""
    if name_key(name) in siblings.taken_keys(session.tree, directory):
        raise name_taken(name, code, level)


def check_place(session: Session, path: str, name: str, code: str) -> None:
    """Raises Failed, `CODE/INVALID_NAME`, if a file at *path*, which follows from *name*, would never be synced."""
    try:
        paths.check_depth(path)
        paths.check_not_ignored(session.tree, path)
    except Failed as failed:
        raise invalid_argument(
            f"{code}/INVALID_NAME", f"The name {name!r} cannot be used there: {failed}", _USE_OTHER_NAME
        ) from failed


def name_taken(name: str, code: str, level: Folder | None) -> Failed:
    """Failure for a name that is taken in a folder; None: at the top level."""
    sentence = f"There is something called {name!r} {folder_phrase(level)} already (upper and lower case are the same)."
    return Failed(f"{code}/DUPLICATE_NAME", "conflict", sentence, "Use another name, or what is there.")


def folder_phrase(level: Folder | None) -> str:
    """Phrase that names the folder."""
    return f"in the folder {level.name!r}" if level is not None else "at the top level"


def _objection_to(name: str) -> str | None:
    if not name.strip():
        return "is blank"
    if len(name) > _MAX_NAME_CHARACTERS:
        return f"has more than {_MAX_NAME_CHARACTERS} characters"
    for sign in "/\\":
        if sign in name:
            return f"contains {sign}"
    return f"ends in {SUFFIX}, as files of pages do" if name.endswith(SUFFIX) else paths.name_objection(name)
