"""A plan changes nothing, and what is carried out is the plan that was looked at, under the lock."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.command_plan import Command, Plan, command
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.approval import ABSENT_DIGEST, Preview
from mirrord.errors import Stale
from mirrord.mirror.write.journal import Journal
from tests.unit.commands.conftest import Open, page


@dataclass
class Named(Plan[str]):
    """Writes its name into a list, unless another program has taken that."""

    name: str
    taken_names: set[str]
    written_names: list[str]
    closed: list[str]
    is_dry: bool = False

    def preview(self, session: Session) -> Preview:
        return Preview(f"{self.name} would be made.", bases={self.name: ABSENT_DIGEST})

    def carry_out(self, session: Session, journal: Journal) -> str:
        if self.name in self.taken_names:
            raise Stale(f"{self.name} is taken.")
        self.written_names.append(self.name)
        return self.name

    def idle_result(self, session: Session) -> str | None:
        return "dry" if self.is_dry else None

    def close(self) -> None:
        self.closed.append(self.name)


@dataclass
class Names:
    """A command that takes the next of some names whenever it is planned."""

    names: list[str]
    taken_names: set[str] = field(default_factory=set)
    written_names: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def command(self) -> Command[..., str]:
        @command("name", dry_argument="dry_run")
        def plan(session: Session, *, dry_run: bool = False) -> Plan[str]:
            return Named(self.names.pop(0), self.taken_names, self.written_names, self.closed, dry_run)

        return plan


def _check_first(preview: Preview) -> None:
    if preview.bases != {"first": ABSENT_DIGEST}:
        raise Failed("CONFLICT", "conflict", "Another one was approved.", "Ask again.")


def test_a_preview_does_nothing_and_releases_what_its_plan_holds(session: Session) -> None:
    names = Names(["first"])
    assert names.command().preview(session).summary == "first would be made."
    assert (names.written_names, names.closed) == ([], ["first"])


def test_a_name_that_another_program_takes_is_planned_again(session: Session) -> None:
    names = Names(["first", "second"], taken_names={"first"})
    assert names.command()(session) == "second"
    assert (names.written_names, names.closed) == (["second"], ["first", "second"])


def test_another_name_than_the_approved_one_is_never_taken_instead(session: Session) -> None:
    names = Names(["first", "second"], taken_names={"first"})
    with pytest.raises(Failed, match="Another one was approved"):
        names.command().call(session, {}, check=_check_first)
    assert names.written_names == []


def test_the_plan_that_is_checked_is_the_plan_that_is_carried_out(session: Session) -> None:
    names = Names(["first", "second"])
    assert names.command().call(session, {}, check=_check_first) == "first"
    assert names.names == ["second"]


def test_a_name_is_tried_only_so_often(session: Session) -> None:
    names = Names([str(number) for number in range(100)], taken_names={str(number) for number in range(100)})
    with pytest.raises(Failed) as caught:
        names.command()(session)
    assert caught.value.code == "EXISTS"


def test_a_dry_run_needs_no_lock(session: Session, connect: Open) -> None:
    with connect().writing():
        assert Names(["first"]).command()(session, dry_run=True) == "dry"


def test_a_page_that_is_approved_while_its_name_is_taken_is_made_under_no_other_name(
    root: Path, session: Session
) -> None:
    approved = COMMANDS["create_page"].preview(session, title="New")

    def check(preview: Preview) -> None:
        if preview.bases != approved.bases:
            raise Failed("STALE", "conflict", "It would be another page.", "Ask again.")

    page(root, "New.md", "of another program\n")
    with pytest.raises(Failed, match="another page"):
        COMMANDS["create_page"].call(session, {"title": "New"}, check=check)
    assert [file.name for file in root.glob("*.md")] == ["New.md"]
