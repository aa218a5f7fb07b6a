"""Why a command failed: a code for programs, a sentence and an instruction."""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from mirrord.errors import Busy, Damaged, DraftFull, MirrordError, OutOfScope, Refused, Stale, Unavailable, UserError
from mirrord.markdown.frontmatter.page_text import EditTargetError
from mirrord.mirror.tree import kernel

_GeneralKind = Literal["not_found", "conflict", "invalid", "forbidden", "busy", "unavailable", "no_session"]
_CollectionKind = Literal[
    "already_exists",
    "invalid_name",
    "name_conflict",
    "category_not_found",
    "description_too_long",
    "invalid_characters",
    "write_error",
    "lock_error",
]
Kind = _GeneralKind | _CollectionKind
KINDS: tuple[Kind, ...] = (*get_args(_GeneralKind), *get_args(_CollectionKind))

MODIFIED_SENTENCE = "Page was modified externally, please retry"  # the words agents were promised

log = logging.getLogger(__name__)


class Failed(MirrordError):
    """
    A failed command, which changed nothing; str() is the sentence.

    code: of the failure, in capitals: PAGE_NOT_FOUND, CONFLICT, READ_FIRST and so on.
    kind: the class of failures it belongs to.
    instruction: what to do next.
    facts: further fields of the answer in snake_case, such as the page's current digest; values are JSON.
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
    """Failure for a missing page at *path*; nearest: paths of similar pages."""
    suggestion = f"Did you mean {_alternatives(nearest)}? " if nearest else ""
    return Failed(
        "PAGE_NOT_FOUND",
        "not_found",
        f"Page not found at path: {path}",
        f"{suggestion}Use list_pages or search_pages to find the page.",
        {"nearest": list(nearest)},
    )


def page_modified(path: str, *, is_gone: bool = False) -> Failed:
    """
    Failure for a page that was changed or removed since it was shown.

    The current digest is withheld, because it would permit the replacement of an unread text.
    """
    return Failed(
        "CONFLICT",
        "conflict",
        MODIFIED_SENTENCE,
        f"{path} is gone; list its folder to see what became of it."
        if is_gone
        else f"Read {path} again, apply your change to what it says now, and write that.",
        {"path": path},
    )


def edit_missed(error: EditTargetError) -> Failed:
    """Failure for an edit that does not fit the page, or a missing section."""
    if error.headings is not None:
        headings = ", ".join(error.headings)
        advice = ""
        if error.occurrences:
            advice = "Name the section around it, as in May > Log, or put #2 behind the second one, as in Log#2. "
        return Failed(
            "HEADING_NOT_FOUND" if not error.occurrences else "HEADING_AMBIGUOUS",
            "not_found" if not error.occurrences else "invalid",
            str(error),
            f"{advice}The headings there are: {headings or 'none'}.",
            {"headings": list(error.headings)},
        )
    if error.occurrences:
        instruction = (
            f"Give more of the text around the place that is meant, or count {error.occurrences} to replace all."
        )
    else:
        instruction = "Read the page again and copy the text exactly."
    return Failed("TEXT_NOT_FOUND", "not_found", str(error), instruction, {"found": error.occurrences})


def invalid_argument(code: str, sentence: str, instruction: str) -> Failed:
    """Failure for an invalid argument."""
    return Failed(code, "invalid", sentence, instruction)


class translating_errors:  # noqa: N801  (used like a function; a generator would take five times as long, in every command)
    """
    Turn errors of mirror, codec and system within a `with` block into Failed.

    Missing files pass unchanged: only the caller knows what they mean.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        match error:
            case None | FileNotFoundError() | NotADirectoryError() | IsADirectoryError():
                return
            case Refused() | Damaged() | Busy() | Unavailable():
                raise failure_of(error) from error
            case OSError():
                raise _system_failure(error) from error


class containing_errors:  # noqa: N801  (as above)
    """
    Turn every error of *command* within a `with` block into Failed.

    An error must end neither an agent's connection nor the daemon, and its internals belong in the log only.
    """

    __slots__ = ("_command",)

    def __init__(self, command: str) -> None:
        self._command = command

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        match error:
            case None | Failed():
                return
            case MirrordError():
                raise failure_of(error) from error
            case NotADirectoryError() | IsADirectoryError() | FileNotFoundError():
                raise _path_failure(error) from error
            case Exception():  # one command must not end a process that serves many
                raise _internal_failure(self._command) from error


def failure_of(error: MirrordError) -> Failed:
    """Turn an error of mirrord into a failure, without names of unavailable things: they may be host paths."""
    match error:
        case Failed():
            return error
        case DraftFull():
            instruction = "Call apply_changes or discard_changes, then begin_changes for the next part."
            return Failed("CHANGES_FULL", "forbidden", str(error), instruction)
        case OutOfScope():
            instruction = "Choose a path inside of it, or ask the person for a token with another scope."
            return Failed("OUT_OF_SCOPE", "forbidden", str(error), instruction)
        case Refused():
            return Failed("REFUSED", "forbidden", str(error), "Use another path: this one is not open to pages.")
        case Damaged():
            return Failed("INVALID_PAGE", "invalid", _sentence_of(error), "Mend the text, then try again.")
        case Busy():
            return Failed("BUSY", "busy", str(error), "Try again in a moment.")
        case Stale():
            return Failed("CONFLICT", "conflict", str(error), "Look at the page again, then decide.")
        case UserError():
            return Failed("INVALID", "invalid", str(error), "Look at the page again, then decide.")
        case _:
            sentence = "The tenant's tree cannot be opened."  # the error's own text names the path
            return Failed("UNAVAILABLE", "unavailable", sentence, "Try again later; an operator may have to help.")


def _internal_failure(command: str) -> Failed:
    """The failure for the error that is being handled, which is logged with its traceback."""
    log.exception("command_failed", extra={"command": command})
    sentence = f"{command} failed because of an error in mirrord; it is in mirrord's log."
    instruction = "Look whether something changed before you try again."
    return Failed("INTERNAL_ERROR", "unavailable", sentence, instruction)


def _path_failure(error: OSError) -> Failed:
    """Failure for a path that leads through a file, to a directory, or to nothing, perhaps only since a moment ago."""
    place = {
        NotADirectoryError: "A part of the path is a page or another file, so nothing can be below it.",
        IsADirectoryError: "The path is a folder's, not a page's.",
    }.get(type(error), "Nothing is at the path, or not any more.")
    instruction = "Call list_pages to see the paths there are, then use one of them or another folder."
    return Failed("INVALID_PATH", "invalid", place, instruction)


def _system_failure(error: OSError) -> Failed:
    if error.errno in kernel.DISK_FULL:
        return Failed("DISK_FULL", "unavailable", "The disk is full; nothing was changed.", "Free some space.")
    sentence = f"The file system refused: {error.strerror}."
    return Failed("UNAVAILABLE", "unavailable", sentence, "Look at it again; an operator may have to help.")


def _sentence_of(error: MirrordError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _alternatives(paths: tuple[str, ...]) -> str:
    *front, last = paths
    return f"{', '.join(front)} or {last}" if front else last
