"""Commands as plans: a command says what is to be done, and its plan is previewed, with diffs, or carried out."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, get_type_hints

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.approval import MAX_PREVIEW_LINES, Preview
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.errors import Stale
from mirrord.mirror.write.journal import Journal

_CONTEXT_LINES = 3  # lines of context
_MAX_LINE_CHARACTERS, _MAX_CHARACTERS = 1_000, 20_000  # characters
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def diff_of(path: str, old: str, new: str) -> str:
    """The unified diff of two texts; "" if they are equal. Long lines and diffs are cut, with a mark."""
    before, after = old.splitlines(), new.splitlines()
    first = _count_equal(before, after)
    last = _count_equal(before[first:][::-1], after[first:][::-1])
    old_end, new_end = len(before) - last, len(after) - last
    if set(before[first:old_end]).isdisjoint(after[first:new_end]):
        diff: Iterable[str] = _one_hunk(path, before, after, (first, old_end, new_end))
    else:
        diff = _hunks_within(path, before, after, (first, old_end, new_end))
    return _shorten("\n".join(_shorten(line, _MAX_LINE_CHARACTERS) for line in diff), _MAX_CHARACTERS)


def _one_hunk(path: str, before: Sequence[str], after: Sequence[str], ends: tuple[int, int, int]) -> list[str]:
    """The diff of texts with one change. ends: its first line, and its end in either text."""
    first, old_end, new_end = ends
    if first == old_end == new_end:
        return []
    begin, behind = max(first - _CONTEXT_LINES, 0), after[new_end : new_end + _CONTEXT_LINES]
    old_range = _range_of(begin, old_end + len(behind))
    new_range = _range_of(begin, new_end + len(behind))
    return [
        *(f"--- {path}", f"+++ {path}", f"@@ -{old_range} +{new_range} @@"),
        *(f" {line}" for line in before[begin:first]),
        *(f"-{line}" for line in before[first:old_end]),
        *(f"+{line}" for line in after[first:new_end]),
        *(f" {line}" for line in behind),
    ]


def _range_of(begin: int, end: int) -> str:
    """The lines from *begin* to *end* as a unified diff writes them."""
    if end - begin == 1:
        return str(begin + 1)
    return f"{begin + 1 if end > begin else begin},{end - begin}"


def _hunks_within(path: str, before: Sequence[str], after: Sequence[str], ends: tuple[int, int, int]) -> Iterator[str]:
    """The diff of texts whose changes are between *ends*; difflib would compare all lines with each other."""
    begin, old_end, new_end = max(ends[0] - _CONTEXT_LINES, 0), ends[1] + _CONTEXT_LINES, ends[2] + _CONTEXT_LINES
    parts = before[begin:old_end], after[begin:new_end]
    for line in unified_diff(*parts, path, path, lineterm="", n=_CONTEXT_LINES):
        yield _shift_hunk(line, begin)


def diff_lines(path: str, old: str, new: str) -> tuple[str, ...]:
    """The diff by lines, limited to the length of a preview."""
    lines = diff_of(path, old, new).splitlines()
    excess = len(lines) - MAX_PREVIEW_LINES + 1
    return tuple(lines) if excess <= 1 else (*lines[: MAX_PREVIEW_LINES - 1], f"… and {excess} lines more")


def _count_equal(before: Sequence[str], after: Sequence[str]) -> int:
    """Number of equal lines from the beginning."""
    for count, (line, other) in enumerate(zip(before, after, strict=False)):
        if line != other:
            return count
    return min(len(before), len(after))


def _shift_hunk(line: str, by: int) -> str:
    """The header of a hunk, renumbered for the whole text; other lines, which begin with other signs, unchanged."""
    if not line.startswith("@") or not (hunk := _HUNK.fullmatch(line)):
        return line
    return f"@@ -{int(hunk[1]) + by}{hunk[2] or ''} +{int(hunk[3]) + by}{hunk[4] or ''} @@"


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… (cut)"


_MAX_TRIES = 20  # plans of one call, while other programs take the names of new files

P = ParamSpec("P")
R = TypeVar("R")
Lock = Callable[[Session], AbstractContextManager[Journal]]
Check = Callable[[Preview], None]  # called with the preview of the very plan that is carried out next


class Plan(ABC, Generic[R]):
    """
    What a command is to do: a subclass holds the edits as values, and both its uses read nothing but those.

    R: the command's result, a dataclass of JSON values.
    """

    __slots__ = ()

    @abstractmethod
    def preview(self, session: Session) -> Preview:
        """Show the edits."""

    @abstractmethod
    def carry_out(self, session: Session, journal: Journal) -> R:
        """
        Carry out the edits durably, under the lock of the command.

        Raises Failed if a file changed meanwhile; Stale if a new name was taken, and another plan may choose another.
        """

    def idle_result(self, session: Session) -> R | None:
        """The result if the plan changes nothing, which needs no approval; else None."""
        return None

    def close(self) -> None:
        """Release what the plan holds outside the tree, such as a copied file."""


@contextmanager
def opening_journal(session: Session) -> Iterator[Journal]:
    """The lock of a long command: other commands may write during its work, and its plan takes the lock at the end."""
    with session.writing() as journal:
        pass
    yield journal


@dataclass(frozen=True, slots=True)
class Command(Generic[P, R]):
    """
    A command that changes something; to call it carries out its plan.

    plan: called with a session and the arguments; changes nothing. Raises Failed if the command is impossible.
    read_arguments: called with the arguments of a tool or a stored request, JSON values by snake_case names; returns
    those of plan.
    inputs: arguments that are paths outside the tree; a request copies their bytes when it is made.
    dry_argument: name of an argument that, if true, makes the plan idle. is_long: plan also takes `progress`.
    lock: held from the planning to the end of the work.
    """

    name: str
    plan: Callable[Concatenate[Session, P], Plan[R]]
    inputs: tuple[str, ...] = ()
    dry_argument: str | None = None
    is_long: bool = False
    lock: Lock = Session.writing
    read_arguments: Callable[..., Mapping[str, Any]] = dict

    def plan_call(self, session: Session, arguments: Mapping[str, Any], **extra: Any) -> Plan[R]:
        """The plan for the *arguments* of a tool or a stored request; *extra* ones are passed on as they are."""
        make_plan: Callable[..., Plan[R]] = self.plan
        return make_plan(session, **self.read_arguments(**arguments), **extra)

    def preview(self, session: Session, /, *args: P.args, **kwargs: P.kwargs) -> Preview:
        """Show what a call with the same arguments would do."""
        with closing(self.plan(session, *args, **kwargs)) as plan:
            return plan.preview(session)

    def __call__(self, session: Session, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Do it, and return the result."""
        return self._perform(session, partial(self.plan, session, *args, **kwargs), is_dry=self.is_dry(kwargs))

    def call(
        self,
        session: Session,
        arguments: Mapping[str, Any],
        progress: Progress = ignore_progress,
        check: Check | None = None,
    ) -> R:
        """Do it with *arguments* as of plan_call, if *check* accepts; *progress* is passed to long commands."""
        extra: dict[str, Any] = {"progress": progress} if self.is_long else {}
        make_plan = partial(self.plan_call, session, arguments, **extra)
        return self._perform(session, make_plan, check, is_dry=self.is_dry(arguments))

    def _perform(
        self, session: Session, make_plan: Callable[[], Plan[R]], check: Check | None = None, *, is_dry: bool
    ) -> R:
        if is_dry:  # needs no lock
            with closing(make_plan()) as plan:
                result = plan.idle_result(session)
                assert result is not None
                return result
        with self.lock(session) as journal:
            for _ in range(_MAX_TRIES):
                with closing(make_plan()) as plan, suppress(Stale):
                    if check is not None:
                        check(plan.preview(session))
                    return plan.carry_out(session, journal)
        raise Failed("EXISTS", "conflict", "The name is taken again and again.", "Use another name.")

    def is_dry(self, arguments: Mapping[str, Any]) -> bool:
        """Whether these arguments prevent every change."""
        return self.dry_argument is not None and bool(arguments.get(self.dry_argument))

    @property
    def result_type(self) -> Any:
        """The type of its result."""
        (result_type,) = get_args(get_type_hints(self.plan)["return"])
        return result_type


def command(
    name: str,
    *,
    inputs: tuple[str, ...] = (),
    dry_argument: str | None = None,
    is_long: bool = False,
    lock: Lock = Session.writing,
    read_arguments: Callable[..., Mapping[str, Any]] = dict,
) -> Callable[[Callable[Concatenate[Session, P], Plan[R]]], Command[P, R]]:
    """Make the decorated planning function the command *name*; see Command."""
    return lambda plan: Command(name, plan, inputs, dry_argument, is_long, lock, read_arguments)
