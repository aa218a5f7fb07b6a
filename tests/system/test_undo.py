"""A change set is undone as one: rows at once, files by the engine, and whatever was done since stays."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from mirrord.db.change_set_rows import Position
from mirrord.db.database import Database
from mirrord.domain.entry import Actor, TenantId, digest_of
from mirrord.domain.scope import UNLIMITED
from mirrord.errors import Refused, UserError
from mirrord.operations import undo_plan
from mirrord.operations.change_diffs import load_changed, load_first_changed
from mirrord.operations.change_set_listing import MAX_LISTED, list_own
from mirrord.operations.undo import UndoOutcome, UndoRequest, preview_undo, undo
from tests.support.change_sets import AGENT, Work
from tests.support.commands import commands
from tests.support.entries import add, add_page, change, value
from tests.support.mirrors import Mirror
from tests.support.rows import Connection

PERSON = Actor("human", "ada")
TEXTS = {
    "Plan.md": "# Plan\n\nfirst\n\nsecond\n\nthird\n",
    "Ideas.md": "# Ideas\n\nsee [[Plan]]\n",
    "Folder/Child.md": "# Child\n",
    "Folder/Inner/Leaf.md": "# Leaf\n",
    "assets/plan.txt": "a plan\n",
    ".records/categories/red.yaml": "dir: Folder\npatterns: []\n",
}


@pytest.fixture
async def work(mirror: Mirror, daemon_connection: Connection) -> Work:
    mirror.write(TEXTS)
    await mirror.settle()
    return Work(mirror, daemon_connection)


async def _undo(
    database: Database, tenant: TenantId, work: Work, change_set: UUID, *, partial: bool = False
) -> UndoOutcome:
    outcome = await undo(database, tenant, UndoRequest(PERSON, str(change_set), partial=partial))
    await work.settle()
    return outcome


def _do_everything(mirror: Mirror) -> None:
    """Edits, moves with links, deletions, new pages and folders, an attachment, a record."""
    mirror.write({"Ideas.md": "# Ideas\n\nsee [[Scheme]]\n", "New/Deep/Page.md": "# New\n"})
    mirror.rename(("Plan.md", "Elsewhere/Scheme.md"))
    shutil.rmtree(mirror.root / "Folder")
    mirror.write({"assets/plan.txt": "another plan\n", "assets/more.txt": "more\n"})
    mirror.write({".records/categories/red.yaml": "dir: Elsewhere\npatterns: []\n"})


async def test_all_of_a_change_set_is_taken_back_and_redone(database: Database, tenant: TenantId, work: Work) -> None:
    before = work.state()
    async with work.changing() as change_set:
        _do_everything(work.mirror)
    changed = work.state()
    assert changed[0].keys() != before[0].keys()

    outcome = await _undo(database, tenant, work, change_set)
    assert (outcome.clashes, work.state()) == ([], before)
    assert (
        value(work.daemon, "SELECT undone_by FROM mirrord.change_set WHERE id = %s", change_set) == outcome.change_set
    )

    assert outcome.change_set is not None
    redone = await _undo(database, tenant, work, outcome.change_set)
    assert (redone.clashes, work.state(), redone.title) == ([], changed, "Redo of an agent, 10:12")
    assert value(work.daemon, "SELECT undone_by FROM mirrord.change_set WHERE id = %s", change_set) is None
    again = await _undo(database, tenant, work, change_set)
    assert (again.clashes, work.state()) == ([], before)


async def test_an_undo_is_one_transaction_and_a_change_set_of_its_person(
    database: Database, tenant: TenantId, work: Work
) -> None:
    async with work.changing() as change_set:
        _do_everything(work.mirror)
    outcome = await undo(database, tenant, UndoRequest(PERSON, str(change_set)))
    query = "SELECT kind, undoes, state, actor ->> 'name' FROM mirrord.change_set WHERE id = %s"
    row = work.daemon.execute(query, [outcome.change_set]).fetchone()
    assert row == ("undo", change_set, "applied", "ada")
    seqs = work.daemon.execute(
        "SELECT DISTINCT seq, actor ->> 'name' FROM mirrord.page_revision JOIN mirrord.entry_feed "
        "ON entry_id = page_id WHERE change_set = %s",
        [outcome.change_set],
    ).fetchall()
    assert [name for _, name in seqs] == ["ada"]
    assert len(outcome.steps) > 5


async def test_what_apps_tell_of_things_that_are_no_pages_hinders_no_undo(
    database: Database, tenant: TenantId, work: Work
) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"Plan.md": "# Plan\n\nanother\n"})
    for number in ("42", "{}", ""):
        event = "INSERT INTO mirrord.event (type, data) VALUES ('OrderDeleted', %s)"
        work.mirror.app.execute(event, [Jsonb({"page_id": number})])
    outcome = await _undo(database, tenant, work, change_set)
    assert outcome.change_set is not None
    assert work.mirror.files()["Plan.md"] == TEXTS["Plan.md"]


async def test_what_a_person_wrote_since_stays(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"Plan.md": TEXTS["Plan.md"].replace("first", "FIRST")})
    work.mirror.write({"Plan.md": TEXTS["Plan.md"].replace("first", "FIRST").replace("third", "by a person")})
    await work.settle()
    outcome = await _undo(database, tenant, work, change_set)
    assert outcome.clashes == []
    assert work.mirror.files()["Plan.md"] == TEXTS["Plan.md"].replace("third", "by a person")


async def test_a_clash_stops_all_and_partial_leaves_it_alone(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"Plan.md": "# Plan\n\nby an agent\n", "Ideas.md": "# Ideas\n\nby an agent\n"})
    work.mirror.write({"Plan.md": "# Plan\n\nby a person\n"})
    await work.settle()
    before = work.state()

    outcome = await _undo(database, tenant, work, change_set)
    assert outcome.change_set is None
    assert [(clash.name, clash.reason) for clash in outcome.clashes] == [("Plan", undo_plan.EDITED)]
    assert work.state() == before

    outcome = await _undo(database, tenant, work, change_set, partial=True)
    files = work.mirror.files()
    assert (files["Ideas.md"], files["Plan.md"]) == (TEXTS["Ideas.md"], "# Plan\n\nby a person\n")
    assert outcome.change_set is not None
    assert value(work.daemon, "SELECT undone_by FROM mirrord.change_set WHERE id = %s", change_set) is None


async def test_a_folder_that_a_person_filled_since_stays(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"New/Page.md": "# Page\n"})
    work.mirror.write({"New/Mine.md": "# Mine\n"})
    await work.settle()
    await _undo(database, tenant, work, change_set)
    files = work.mirror.files()
    assert ("New/Mine.md" in files, "New/Page.md" in files) == (True, False)


async def test_a_name_that_is_taken_since_clashes(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.rename(("Plan.md", "Scheme.md"))
    work.mirror.write({"Plan.md": "# Another\n"})
    await work.settle()
    outcome = await _undo(database, tenant, work, change_set)
    assert [clash.reason for clash in outcome.clashes] == [undo_plan.TAKEN]


async def test_two_pages_that_swapped_their_names_swap_again(database: Database, tenant: TenantId, work: Work) -> None:
    before = work.state()
    async with work.changing() as change_set:
        work.mirror.rename(("Plan.md", "Third.md"), ("Ideas.md", "Plan.md"), ("Third.md", "Ideas.md"))
    assert work.state() != before
    outcome = await _undo(database, tenant, work, change_set)
    assert (outcome.clashes, work.state()) == ([], before)


async def test_a_preview_writes_nothing(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        _do_everything(work.mirror)
    before = work.state()
    preview = await preview_undo(database, tenant, UndoRequest(PERSON, str(change_set)))
    await work.settle()
    assert (preview.change_set, work.state()) == (None, before)
    assert preview.steps


async def test_of_a_large_change_set_a_part_is_loaded(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        _do_everything(work.mirror)

    async with database.transaction(tenant) as connection:
        entries = await load_changed(connection, tenant, change_set)
        first, further = await load_first_changed(connection, tenant, change_set, len(entries) - 2)
        all_of_it, others = await load_first_changed(connection, tenant, change_set, len(entries))

    assert {entry.entry for entry in first} < {entry.entry for entry in entries}
    assert (len(first), further) == (len(entries) - 2, 2)
    assert (all_of_it, others) == (entries, 0)


async def test_what_an_author_did_since_a_moment_is_undone(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing():
        work.mirror.write({"Plan.md": "# Plan\n\nearlier\n"})
    moment = value(work.daemon, "SELECT clock_timestamp()")
    async with work.changing():
        work.mirror.write({"Plan.md": "# Plan\n\nlater\n"})
    async with work.changing():
        work.mirror.write({"Ideas.md": "# Ideas\n\nlater\n"})
    await undo(database, tenant, UndoRequest(PERSON, author="researcher", since=moment))
    await work.settle()
    files = work.mirror.files()
    assert (files["Plan.md"], files["Ideas.md"]) == ("# Plan\n\nearlier\n", TEXTS["Ideas.md"])


@pytest.mark.parametrize("author", ["researcher", "agent researcher", "researcher agent"])
async def test_an_author_is_named_as_lists_print_them(
    database: Database, tenant: TenantId, work: Work, author: str
) -> None:
    moment = value(work.daemon, "SELECT clock_timestamp()")
    async with work.changing():
        work.mirror.write({"Plan.md": "# Plan\n\nlater\n"})
    with pytest.raises(UserError, match="changed nothing since"):
        await undo(database, tenant, UndoRequest(PERSON, author="human researcher", since=moment))
    outcome = await undo(database, tenant, UndoRequest(PERSON, author=author, since=moment))
    assert [step.after.name for step in outcome.steps] == ["Plan"]


async def test_the_change_sets_of_an_actor_are_listed_in_parts_each_once(
    database: Database, tenant: TenantId, daemon_connection: Connection
) -> None:
    now = datetime.now(UTC)
    own_sets = [
        add(daemon_connection, "change_set", kind="connection", title="x", actor=Jsonb(AGENT), started_at=moment)
        for moment in (now - timedelta(minutes=number // 2) for number in range(2 * MAX_LISTED + 3))  # two at a time
    ]
    add(daemon_connection, "change_set", kind="connection", title="x", actor=Jsonb({"kind": "agent", "name": "other"}))
    position, listed, has_more = Position(without=(own_sets[1],)), list[UUID](), True
    async with database.transaction(tenant) as connection:
        while has_more:
            part, has_more = await list_own(connection, tenant, Actor(**AGENT), UNLIMITED, position)
            listed += [change_set.change_set.id for change_set in part]
            position = position.after(part[-1].change_set)
    assert (len(listed), set(listed)) == (len(own_sets) - 1, {*own_sets} - {own_sets[1]})


async def test_an_unread_write_of_an_app_clashes(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"Plan.md": "# Plan\n\nby an agent\n"})
    change(work.mirror.app, work.mirror.page("Plan.md").id, title="By an app")
    outcome = await undo(database, tenant, UndoRequest(PERSON, str(change_set)))
    assert [clash.reason for clash in outcome.clashes] == [undo_plan.UNSETTLED]


async def test_a_wrong_request_gets_a_clear_answer(database: Database, tenant: TenantId, work: Work) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"Plan.md": "# Plan\n\nby an agent\n"})
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    for request, sentence in (
        (UndoRequest(PERSON, str(uuid4())), "There is no change set"),
        (UndoRequest(PERSON, "zzz"), "is no id of a change set"),
        (UndoRequest(PERSON, "%"), "is no id of a change set"),
        (UndoRequest(PERSON, author="researcher", since=tomorrow), "is in the future"),
        (UndoRequest(PERSON, author="nobody", since=datetime(2020, 1, 1, tzinfo=UTC)), "changed nothing since"),
    ):
        with pytest.raises(UserError, match=sentence):
            await undo(database, tenant, request)
    with pytest.raises(Refused, match="its own changes only"):
        await undo(database, tenant, UndoRequest(PERSON, str(change_set), only_of=Actor("agent", "another")))
    await _undo(database, tenant, work, change_set)
    with pytest.raises(Refused, match="undone already, by"):
        await undo(database, tenant, UndoRequest(PERSON, str(change_set)))


async def test_a_change_set_that_was_taken_back_by_hand_leaves_nothing_to_undo(
    database: Database, tenant: TenantId, work: Work
) -> None:
    async with work.changing() as change_set:
        work.mirror.write({"Plan.md": "# Plan\n\nby an agent\n"})
    work.mirror.write({"Plan.md": TEXTS["Plan.md"]})
    await work.settle()
    with pytest.raises(Refused, match="nothing to undo"):
        await undo(database, tenant, UndoRequest(PERSON, str(change_set)))


def _page(daemon: Connection, name: str, *texts: str) -> UUID:
    """A page whose later texts are taken in one after the other."""
    versions = [{"markdown": text, "digest": digest_of(text.encode())} for text in texts]
    entry = add_page(daemon, name=name, name_key=name.lower(), title=name, **versions[0])
    for columns in versions[1:]:
        change(daemon, entry, **columns)
    return entry


def test_a_change_set_is_listed_shown_and_undone_by_commands(
    admin_dsn: str, tenant: TenantId, daemon_connection: Connection, tmp_path: Path
) -> None:
    daemon, mirrord = daemon_connection, commands(admin_dsn, tenant, tmp_path)
    assert "no agent has changed anything" in mirrord("changes").err
    ideas = _page(daemon, "Ideas", "first\n", "by an agent\n")
    _page(daemon, "Plan", "first\n", "by an agent\n", "by a person\n")
    change_set = add(daemon, "change_set", kind="connection", title="an agent, 10:12", actor=Jsonb(AGENT))
    stamp = "UPDATE mirrord.page_revision SET change_set = %s, actor = %s WHERE version = 2"
    daemon.execute(stamp, [change_set, Jsonb(AGENT)])

    result = mirrord("changes")
    assert (result.code, str(change_set)[:18] in result.out, "2 entries" in result.out) == (0, True, True)
    result = mirrord("changes", "show", str(change_set)[:13])
    assert (result.code, "+by an agent" in result.out, "-first" in result.out, "edited" in result.out) == (
        1,
        True,
        True,
        True,
    )
    result = mirrord("changes", "show", str(change_set), "--json")
    assert {entry["name"] for entry in json.loads(result.out)["entries"]} == {"Plan", "Ideas"}

    result = mirrord("undo", str(change_set), "--dry-run")
    assert (result.code, result.out) == (0, "page       Ideas: gets its earlier text\n")
    assert ("Nothing was done" in result.err, "Plan: left, it was edited" in result.err) == (True, True)
    result = mirrord("undo", str(change_set))
    assert (result.code, undo_plan.EDITED in result.err, "--partial" in result.err) == (4, True, True)
    assert value(daemon, "SELECT markdown FROM mirrord.page WHERE id = %s", ideas) == "by an agent\n"
    result = mirrord("undo", "--by", "agent researcher", "--since", "2020-01-01", "--partial")
    assert (result.code, result.out) == (0, "page       Ideas: gets its earlier text\n"), result.err
    assert value(daemon, "SELECT markdown FROM mirrord.page WHERE id = %s", ideas) == "first\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Name a change set"),
        (("abcdef", "--by", "ada"), "Name a change set"),
        (("--by", "ada"), "--by and --since belong together"),
        (("--by", "ada", "--since", "soon"), "or 2 hours ago"),
        (("--by", "ada", "--since", "2999-01-01"), "is in the future"),
        (("abcdef",), "There is no change set"),
    ],
)
def test_a_wrong_command_says_how_it_is_right(
    admin_dsn: str, tenant: TenantId, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    result = commands(admin_dsn, tenant, tmp_path)("undo", *arguments)
    assert (result.code, sentence in result.err) == (2, True), result.err
