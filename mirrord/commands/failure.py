"""Why a command was not done: a code for programs, a sentence and an instruction for whoever asked."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Literal, get_args

from mirrord.codec.missed import Missed
from mirrord.errors import Busy, Damaged, MirrordError, Refused, Stale, Unavailable, UserError
from mirrord.mirror import kernel

_General = Literal["not_found", "conflict", "invalid", "forbidden", "busy", "unavailable", "no_session"]
_OfCollections = Literal[
    "already_exists",
    "invalid_name",
    "name_conflict",
    "category_not_found",
    "description_too_long",
    "invalid_characters",
    "write_error",
    "lock_error",
]
Kind = _General | _OfCollections
KINDS: tuple[Kind, ...] = (*get_args(_General), *get_args(_OfCollections))

MODIFIED = "Page was modified externally, please retry"  # the words agents were promised

log = logging.getLogger(__name__)


class Failed(MirrordError):
    """
    A command that changed nothing; str() is the sentence.

    code: of the failure, in capitals: PAGE_NOT_FOUND, CONFLICT, READ_FIRST and so on.
    kind: the class of failures it belongs to.
    instruction: what to do next.
    facts: further fields of the answer in snake_case, such as the page's digest now; values are JSON.
    """

    def __init__(
        self, code: str, kind: Kind, sentence: str, instruction: str, facts: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.kind = kind
        self.instruction = instruction
        self.facts = facts


def page_not_found(path: str, nearest: tuple[str, ...] = ()) -> Failed:
    """There is no page at *path*; nearest: paths of pages that may have been meant."""
    meant = f"Did you mean {_one_of(nearest)}? " if nearest else ""
    return Failed(
        "PAGE_NOT_FOUND",
        "not_found",
        f"Page not found at path: {path}",
        f"{meant}Use list_pages or search_pages to find the page.",
        {"nearest": list(nearest)},
    )


def modified(path: str, *, is_gone: bool = False) -> Failed:
    """
    The page was changed since it was shown, or is gone.

    The digest that it has now is not told: with it an unread text could be replaced.
    """
    return Failed(
        "CONFLICT",
        "conflict",
        MODIFIED,
        f"{path} is gone; list its folder to see what became of it."
        if is_gone
        else f"Read {path} again, apply your change to what it says now, and write that.",
        {"path": path},
    )


def missed(error: Missed) -> Failed:
    """An edit does not fit the page, or a section is not there."""
    if error.headings is not None:
        listed = ", ".join(error.headings)
        which = "Put #2 behind the title for the second of them, as in Log#2. " if error.found else ""
        return Failed(
            "HEADING_NOT_FOUND" if not error.found else "HEADING_AMBIGUOUS",
            "not_found" if not error.found else "invalid",
            str(error),
            f"{which}The headings there are: {listed or 'none'}.",
            {"headings": list(error.headings)},
        )
    if error.found:
        how = f"Give more of the text around the place that is meant, or count {error.found} to replace all."
    else:
        how = "Read the page again and copy the text exactly."
    return Failed("TEXT_NOT_FOUND", "not_found", str(error), how, {"found": error.found})


def invalid(code: str, sentence: str, instruction: str) -> Failed:
    """An argument that no page, name or edit can have."""
    return Failed(code, "invalid", sentence, instruction)


class explained:  # noqa: N801  (used like a function; a generator would take five times as long, in every command)
    """
    Say what mirror, codec and system refuse as Failed, for the length of a `with`.

    That something is not there passes: only who looked for it knows what that means.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        match error:
            case None | FileNotFoundError() | NotADirectoryError() | IsADirectoryError():
                return
            case Refused() | Damaged() | Busy() | Unavailable():
                raise failed_by(error) from error
            case OSError():
                raise _of_system(error) from error


@contextmanager
def contained(command: str) -> Iterator[None]:
    """
    Let whatever goes wrong while *command* is done be Failed, for the length of a `with`.

    It must end neither an agent's connection nor the daemon, and what is inside is for the log only.
    """
    try:
        yield
    except Failed:
        raise
    except MirrordError as error:
        raise failed_by(error) from error
    except (NotADirectoryError, IsADirectoryError, FileNotFoundError) as error:
        raise _misplaced(error) from error
    except Exception as error:  # one command must not end what serves many
        log.exception("command_failed", extra={"command": command})
        sentence = f"{command} failed because of an error in mirrord; it is in mirrord's log."
        instruction = "Look whether something changed before you try again."
        raise Failed("INTERNAL_ERROR", "unavailable", sentence, instruction) from error


def failed_by(error: MirrordError) -> Failed:
    """An error of mirrord's as a failure. What is out of reach is not named: that may be a path of the host."""
    match error:
        case Failed():
            return error
        case Refused():
            return Failed("REFUSED", "forbidden", str(error), "Use another path: this one is not open to pages.")
        case Damaged():
            return Failed("INVALID_PAGE", "invalid", _sentence(error), "Mend the text, then try again.")
        case Busy():
            return Failed("BUSY", "busy", str(error), "Try again in a moment.")
        case Stale():
            return Failed("CONFLICT", "conflict", str(error), "Look at the page again, then decide.")
        case UserError():
            return Failed("INVALID", "invalid", str(error), "Look at the page again, then decide.")
        case _:
            sentence = "The tenant's tree cannot be opened."  # the error's own names its place
            return Failed("UNAVAILABLE", "unavailable", sentence, "Try again later; an operator may have to help.")


def _misplaced(error: OSError) -> Failed:
    """A path leads through a file, to a directory, or to nothing: it was no path of a page, or became none just now."""
    place = {
        NotADirectoryError: "A part of the path is a page or another file, so nothing can be below it.",
        IsADirectoryError: "The path is a folder's, not a page's.",
    }.get(type(error), "Nothing is at the path, or not any more.")
    instruction = "Call list_pages to see the paths there are, then use one of them or another folder."
    return Failed("INVALID_PATH", "invalid", place, instruction)


def _of_system(error: OSError) -> Failed:
    if error.errno in kernel.DISK_FULL:
        return Failed("DISK_FULL", "unavailable", "The disk is full; nothing was changed.", "Free some space.")
    sentence = f"The file system refused: {error.strerror}."
    return Failed("UNAVAILABLE", "unavailable", sentence, "Look at it again; an operator may have to help.")


def _sentence(error: MirrordError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _one_of(paths: tuple[str, ...]) -> str:
    *front, last = paths
    return f"{', '.join(front)} or {last}" if front else last
