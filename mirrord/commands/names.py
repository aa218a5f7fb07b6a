"""Names that folders and sources may get: what the tree takes as it is, and nobody beside them has."""

import unicodedata

from mirrord.commands import paths, siblings
from mirrord.commands.failure import Failed, invalid
from mirrord.commands.holdings import Folder
from mirrord.commands.session import Session
from mirrord.domain.place import clean, name_key
from mirrord.mirror.layout import SUFFIX, is_text

_LONGEST = 255  # characters
_OTHER = "Use another name, or put it elsewhere."


def checked(name: str, code: str) -> str:
    """*name*, composed as the tree composes names. Raises Failed, `CODE/INVALID_NAME`, if it cannot be one."""
    if not is_text(name):
        raise invalid(f"{code}/INVALID_NAME", "The name is not Unicode text.", "Send plain text.")
    composed = unicodedata.normalize("NFC", name)
    if (why := _objection(composed)) is None:
        return composed
    better = clean(composed.removesuffix(SUFFIX), "1")
    sentence = f"The name {composed[:_LONGEST]!r} {why}."
    raise invalid(f"{code}/INVALID_NAME", sentence, f"Use another name, such as {better!r}.")


def check_free(session: Session, directory: str, name: str, code: str, level: Folder | None) -> None:
    """Raises Failed, `CODE/DUPLICATE_NAME`, if something in *directory*, that of *level*, is called so, or nearly."""
    if name_key(name) in siblings.taken(session.tree, directory):
        raise taken(name, code, level)


def check_place(session: Session, path: str, name: str, code: str) -> None:
    """Raises Failed, `CODE/INVALID_NAME`, if a file at *path*, there because of *name*, would never be synced."""
    try:
        paths.check_depth(path)
        paths.check_kept(session.tree, path)
    except Failed as failed:
        raise invalid(f"{code}/INVALID_NAME", f"The name {name!r} cannot be used there: {failed}", _OTHER) from failed


def taken(name: str, code: str, level: Folder | None) -> Failed:
    """Something is called *name* in a folder, None: in none, already."""
    sentence = f"There is something called {name!r} {where(level)} already (upper and lower case are the same)."
    return Failed(f"{code}/DUPLICATE_NAME", "conflict", sentence, "Use another name, or what is there.")


def where(level: Folder | None) -> str:
    """In which folder."""
    return f"in the folder {level.name!r}" if level is not None else "at the top level"


def _objection(name: str) -> str | None:
    if not name.strip():
        return "is blank"
    if len(name) > _LONGEST:
        return f"has more than {_LONGEST} characters"
    for sign in "/\\":
        if sign in name:
            return f"contains {sign}"
    return f"ends in {SUFFIX}, as files of pages do" if name.endswith(SUFFIX) else paths.objection(name)
