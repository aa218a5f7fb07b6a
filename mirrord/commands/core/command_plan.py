"""Commands as plans: a command says what is to be done, and its plan is previewed or carried out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, get_type_hints

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.approval import Preview
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.errors import Stale
from mirrord.mirror.write.journal import Journal

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

    plan: called with a session and the arguments, JSON values by snake_case names; changes nothing. Raises Failed if
    the command is impossible.
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
        """Do it with *arguments* by name, if *check* accepts; *progress* is passed to long commands."""
        extra: dict[str, Any] = {"progress": progress} if self.is_long else {}
        make_plan: Callable[..., Plan[R]] = self.plan
        return self._perform(
            session, partial(make_plan, session, **arguments, **extra), check, is_dry=self.is_dry(arguments)
        )

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
) -> Callable[[Callable[Concatenate[Session, P], Plan[R]]], Command[P, R]]:
    """Make the decorated planning function the command *name*; see Command."""
    return lambda plan: Command(name, plan, inputs, dry_argument, is_long, lock)
