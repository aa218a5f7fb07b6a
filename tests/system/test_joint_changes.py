"""An applied change set in rows: all of its pages in one transaction, with one place in the feed."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.change_commands import begin_changes
from mirrord.commands.changes.draft_session import OpenDraft, leave_draft
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import write_page
from mirrord.db.database import app_dsn
from mirrord.domain.entry import Actor, TenantId
from mirrord.mirror.draft.draft_tree import MAX_PAGES
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.applied_plans import APPLIED_PATH
from tests.support.entries import value
from tests.support.mirrors import PATIENCE, Mirror
from tests.support.rows import Connection
from tests.unit.kills import forgo_syncs, killed_at

KILL_STEP = 5  # calls between two kills of an apply
AGENT = Actor("agent", "writer")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_process()
    forgo_syncs(monkeypatch)


@pytest.fixture
def other_app(admin_dsn: str, tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """A second connection of an app."""
    return connect(app_dsn(admin_dsn, tenant))


@contextmanager
def session_of(mirror: Mirror, writer: str = "mcp-main") -> Iterator[Session]:
    """A session of an agent on the tree of *mirror*."""
    sides = mirror.opened.sides
    session = Session(Tree(mirror.root), sides.name, sides.tenant, AGENT, writer)
    try:
        yield session
    finally:
        session.close()


def draft(session: Session, act: Callable[[Session], object]) -> str:
    """A draft in which *act* was done; its id."""
    connection = ConnectionChanges()
    begin_changes(session, connection, "A change set")
    opened = connection.draft
    assert isinstance(opened, OpenDraft)
    act(opened.session)
    leave_draft(connection)
    return opened.facts.id


def apply(mirror: Mirror, act: Callable[[Session], object]) -> None:
    """Apply a change set in which *act* was done."""
    with session_of(mirror) as session:
        apply_changes(session, draft(session, act))


def places(mirror: Mirror) -> dict[UUID, int]:
    """The place of each entry in the feed."""
    return dict(mirror.app.execute("SELECT entry_id, seq FROM mirrord.entry_feed").fetchall())


def newest(mirror: Mirror) -> int:
    seq: int = value(mirror.app, "SELECT seq FROM mirrord.tenant_clock")
    return seq


def is_noted(mirror: Mirror) -> bool:
    """Whether an applied change set waits for rows."""
    directory = mirror.root / APPLIED_PATH
    return directory.exists() and any(directory.iterdir())


def edit(session: Session, path: str, old: str, new: str) -> None:
    edit_page(session, path, [{"find": old, "replace": new}])


def edit_each(names: Iterable[str], old: str = "one", new: str = "two") -> Callable[[Session], None]:
    """Replaces *old* by *new* in each page."""

    def act(session: Session) -> None:
        for name in names:
            edit(session, f"{name}.md", old, new)

    return act


def changed_since(mirror: Mirror, before: dict[UUID, int]) -> dict[UUID, int]:
    return {entry: seq for entry, seq in places(mirror).items() if before.get(entry) != seq}


async def test_all_of_a_change_set_has_one_place_in_the_feed(mirror: Mirror) -> None:
    names = ("Edited", "Moved", "Both", "Deleted", "First", "Second")
    mirror.write({f"Work/{name}.md": f"# {name}\n\ntext\n" for name in names} | {"Gone/Only.md": "only\n"})
    await mirror.settle()
    ids = dict(zip(names, mirror.ids(*(f"Work/{name}" for name in names)), strict=True))
    only, folder = mirror.ids("Gone/Only", "Gone")
    before, seq = places(mirror), newest(mirror)

    def act(session: Session) -> None:
        edit(session, "Work/Edited.md", "text", "edited")
        move_page(session, "Work/Moved.md", "New/Deep/Moved.md")
        move_page(session, "Work/Both.md", "New/Both.md")
        edit(session, "New/Both.md", "text", "moved and edited")
        delete_page(session, "Work/Deleted.md")
        delete_page(session, "Gone", recursive=True)
        write_page(session, "New/Deep/Fresh.md", "# Fresh\n")
        move_page(session, "Work/First.md", "Work/Aside.md")
        move_page(session, "Work/Second.md", "Work/First.md")
        move_page(session, "Work/Aside.md", "Work/Second.md")

    apply(mirror, act)
    await mirror.settle()
    changed = changed_since(mirror, before)
    assert {*ids.values(), only, folder} <= changed.keys()
    assert set(changed.values()) == {seq + 1}
    assert len(changed) == len(ids) + 2 + 3  # the new page and its two folders
    assert mirror.rows()["New/Both"] == "# Both\n\nmoved and edited\n"
    assert mirror.ids("New/Both", "New/Deep/Moved", "Work/Second", "Work/First") == [
        ids["Both"],
        ids["Moved"],
        ids["First"],
        ids["Second"],
    ]
    assert "Work/Deleted" not in mirror.rows()
    assert not is_noted(mirror)
    assert mirror.problems() == {}


async def test_after_a_killed_apply_rows_have_all_or_nothing_at_every_moment(mirror: Mirror) -> None:
    mirror.write({f"{name}.md": "one\n" for name in "ABCDEFGH"})
    await mirror.settle()
    tenant, name = mirror.opened.sides.tenant, mirror.opened.sides.name

    def apply_in(root: Path) -> None:
        apply_changes(Session(Tree(root), name, tenant, AGENT, "mcp-dying"), change_set)

    calls = 0
    with session_of(mirror) as session:
        change_set = draft(session, edit_each("ABCDEFGH"))
    torn = False
    while mirror.rows()["A"] == "one\n":
        calls += KILL_STEP
        is_killed = killed_at(calls, mirror.root, apply_in)
        torn |= len(set(mirror.files().values())) > 1
        mirror.engine.request_scan()
        end = time.monotonic() + PATIENCE
        while not mirror.engine.is_idle:
            assert time.monotonic() < end, mirror.problems()
            await mirror.work()
            assert len(set(mirror.rows().values())) == 1
        assert is_killed or mirror.rows()["A"] == "two\n"
    assert torn, "no kill left half of the files"
    assert not is_noted(mirror)


async def test_change_sets_that_were_applied_without_a_daemon_come_into_rows_together(mirror: Mirror) -> None:
    mirror.write({f"{name}.md": "one\n" for name in ("A", "B", "C", "D")})
    await mirror.settle()
    before, seq = places(mirror), newest(mirror)
    apply(mirror, edit_each("AB"))

    def act(session: Session) -> None:
        edit(session, "B.md", "two", "three")
        edit(session, "C.md", "one", "two")

    apply(mirror, act)
    apply(mirror, edit_each("D"))
    await mirror.engine.compare_all()
    await mirror.settle()
    changed, ids = changed_since(mirror, before), mirror.ids("A", "B", "C", "D")
    assert [changed[entry] for entry in ids[:3]] == [changed[ids[0]]] * 3
    assert newest(mirror) == seq + 2
    assert mirror.rows() == {"A": "two\n", "B": "three\n", "C": "two\n", "D": "two\n"}


async def test_a_page_whose_row_changed_too_is_merged_after_the_others(mirror: Mirror) -> None:
    mirror.write({"A.md": "one\n", "B.md": "one\n\nlast\n", "C.md": "one\n"})
    await mirror.settle()
    ids = mirror.ids("A", "B", "C")
    apply(mirror, edit_each("ABC"))
    text = "one\n\nlast, by an app\n"
    mirror.app.execute("UPDATE page SET markdown = %s WHERE id = %s", [text, ids[1]])
    await mirror.settle()
    seqs = places(mirror)
    assert seqs[ids[0]] == seqs[ids[2]] != seqs[ids[1]]
    assert mirror.rows() == {"A": "two\n", "B": "two\n\nlast, by an app\n", "C": "two\n"}


async def test_a_row_that_an_app_holds_delays_the_whole_change_set_and_nothing_else(
    mirror: Mirror, other_app: Connection
) -> None:
    mirror.write({f"{name}.md": "one\n" for name in ("A", "B", "C")})
    await mirror.settle()
    ids = mirror.ids("A", "B", "C")
    other_app.execute("BEGIN")
    other_app.execute("SELECT FROM page WHERE id = %s FOR UPDATE", [ids[0]])
    apply(mirror, edit_each("AB"))
    mirror.write({"C.md": "edited\n"})
    mirror.engine.request_scan()
    end = time.monotonic() + PATIENCE
    while mirror.rows()["C"] != "edited\n":
        assert time.monotonic() < end, mirror.problems()
        await mirror.work()
    for _ in range(5):
        await mirror.work()
        assert [mirror.rows()[name] for name in "AB"] == ["one\n", "one\n"]
    other_app.execute("COMMIT")
    await mirror.settle()
    seqs = places(mirror)
    assert mirror.rows() == {"A": "two\n", "B": "two\n", "C": "edited\n"}
    assert seqs[ids[0]] == seqs[ids[1]]


async def test_a_name_that_a_row_took_meanwhile_parts_the_change_set_and_loses_nothing(mirror: Mirror) -> None:
    mirror.write({"A.md": "one\n"})
    await mirror.settle()

    def act(session: Session) -> None:
        edit(session, "A.md", "one", "two")
        write_page(session, "New.md", "by the agent\n")

    apply(mirror, act)
    mirror.app.execute("INSERT INTO page (name, markdown) VALUES ('New', 'by an app')")
    await mirror.settle()
    texts = "\n".join(text or "" for text in mirror.rows().values())
    assert [text in texts for text in ("by an app", "by the agent", "two")] == [True] * 3
    assert len(mirror.rows()) == 3
    assert not is_noted(mirror)


async def test_many_deletions_of_a_change_set_wait_for_a_person_and_the_rest_does_not(mirror: Mirror) -> None:
    mirror.write({f"Many/{number}.md": f"{number}\n" for number in range(40)} | {"A.md": "one\n", "B.md": "one\n"})
    await mirror.settle()
    before = places(mirror)

    def act(session: Session) -> None:
        edit(session, "A.md", "one", "two")
        edit(session, "B.md", "one", "two")
        delete_page(session, "Many", recursive=True)

    apply(mirror, act)
    await mirror.settle()
    changed = changed_since(mirror, before)
    assert changed.keys() == {*mirror.ids("A", "B")}
    assert len(set(changed.values())) == 1
    assert value(mirror.app, "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL") == 1
    assert not is_noted(mirror)


async def test_a_change_set_of_500_pages_has_one_place_in_the_feed(mirror: Mirror) -> None:
    mirror.write({f"P{number}.md": "one\n" for number in range(MAX_PAGES)})
    await mirror.settle()
    before = places(mirror)
    apply(mirror, edit_each(f"P{number}" for number in range(MAX_PAGES)))
    await mirror.settle()
    changed = changed_since(mirror, before)
    assert (len(changed), len(set(changed.values()))) == (MAX_PAGES, 1)
