"""What an approver does with requests that an earlier one left, or that belong to another mirror."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mirrord.commands.changes.draft_session import LOCAL_OWNER, begin_draft
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_commands import create_page
from mirrord.config import Agents, Config
from mirrord.db import approval_rows, mirror_leases
from mirrord.db.database import Database
from mirrord.domain.approval import Answer, Request
from mirrord.domain.entry import TenantId, new_id
from mirrord.domain.measures import Work
from mirrord.errors import Locked
from mirrord.intake.approver import Approver
from mirrord.intake.request_execution import TenantContext, execute_request
from mirrord.mcp.tool_sets import ALL_SETS, tools_of
from mirrord.mirror.write import request_files, trash
from tests.support.approvals import Asker
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

CALL = {"title": "Alpha"}
TOOL_OF = {tool.name: tool for tool in tools_of([ALL_SETS])}


class Office:
    """A mirror, an agent with its files, and approvers that come and go."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.agent = Asker(mirror.root, "demo")
        config = Config(mirror.root.parent, mirror.root.parent / "data", "host=x", agents=Agents(local_trust=True))
        self.desk = TenantContext(mirror.opened.sides, config)

    async def work(self) -> None:
        """A daemon that just started, on a mirror that was there before, does its first round."""
        sides = self.desk.sides
        sides.is_first = False
        assert sides.lease is not None
        await mirror_leases.renew_leases(sides.database, [sides.lease])  # as the daemon does beside this
        sides.note_renewal()
        await Approver(self.desk, lambda: True).work()

    async def approved(self) -> UUID:
        """A request that a person approved and nobody began with."""
        request = self.agent.asks("create_page", CALL)
        await self.work()
        self.mirror.app.execute("SELECT mirrord.approve(%s)", [request])
        return request

    async def claim(self, request: UUID) -> None:
        sides = self.mirror.opened.sides
        async with sides.database.transaction(sides.tenant) as connection:
            assert await approval_rows.claim_request(connection, sides.tenant, sides.mirror, request)

    async def stored(self, request: UUID) -> approval_rows.StoredRequest:
        sides = self.mirror.opened.sides
        async with sides.database.transaction(sides.tenant) as connection:
            return (await approval_rows.load_requests(connection, sides.tenant, [request]))[request]

    def pages(self) -> list[str]:
        return sorted(path.name for path in self.mirror.root.glob("Alpha*.md"))


@pytest.fixture
async def offices(
    database: Database, app_connection: Connection, tenant: TenantId, tmp_path: Path
) -> AsyncIterator[list[Office]]:
    """Two mirrors of one tenant."""
    async with AsyncExitStack() as opened:
        directories = (tmp_path / "one", tmp_path / "two")
        mirrors = [
            await opened.enter_async_context(opened_mirror(database, app_connection, directory, tenant))
            for directory in directories
        ]
        opened_offices = [Office(mirror) for mirror in mirrors]
        for office in opened_offices:
            opened.callback(office.agent.session.close)
        yield opened_offices


@pytest.fixture
def office(offices: list[Office]) -> Office:
    return offices[0]


async def test_a_request_that_was_claimed_by_one_that_died_before_it_began_is_run_once(office: Office) -> None:
    request = await office.approved()
    await office.claim(request)

    await office.work()
    await office.work()

    assert office.pages() == ["Alpha.md"]
    assert (await office.stored(request)).state == "executed"
    assert isinstance(office.agent.calls("create_page", CALL), dict)


async def test_how_far_an_approved_import_is_can_be_seen_until_it_is_over(office: Office, tmp_path: Path) -> None:
    file = tmp_path / "Wave.csv"
    file.write_text("Id;Why\n" + "".join(f"P{number};because\n" for number in range(100)))
    maps = [{"column": "Id", "target": "identifier"}, {"column": "Why", "target": "source_text"}]
    agent = Asker(office.mirror.root, "demo", attach_from=(tmp_path,))
    request = agent.asks("import_survey", {"path": str(file), "column_mappings": maps})
    await office.work()
    office.mirror.app.execute("SELECT mirrord.approve(%s)", [request])
    approver, states = Approver(office.desk, lambda: True), set[Work]()

    working = asyncio.ensure_future(approver.work())
    while not working.done():
        if approver.long_work is not None:
            states.add(approver.long_work)
        await asyncio.sleep(0)

    agent.session.close()
    assert (await office.stored(request)).state == "executed"
    assert len({work.done for work in states}) > 2
    assert {(work.what, work.total) for work in states} == {("command", 100)}
    assert approver.long_work is None


async def test_a_request_that_breaks_its_command_is_told_so_and_the_next_is_taken_in(office: Office) -> None:
    forged = Request(
        id=new_id(),
        command="create_page",
        arguments={"title": 5},  # by hand: no tool lets a number through
        inputs={},
        bases={},
        tenant_id=office.desk.sides.tenant,
        actor=office.agent.session.actor,
        token=None,
        requested_at=datetime.now(UTC),
    )
    request_files.write(office.desk.sides.tree, forged, Answer())

    request = await office.approved()
    await office.work()

    stored = request_files.read(office.desk.sides.tree, request_files.path_of(forged.id))
    assert isinstance(stored, tuple)
    assert stored[1].state == "failed"
    assert stored[1].failure is not None
    assert stored[1].failure["code"] == "INTERNAL_ERROR"
    assert (await office.stored(request)).state == "executed"


async def test_an_outcome_that_could_not_be_written_down_is_kept_and_not_made_again(
    office: Office, admin_dsn: str, connect: Callable[[str], Connection]
) -> None:
    request = await office.approved()
    await office.claim(request)
    with connect(admin_dsn) as blocker, blocker.transaction():
        blocker.execute("SELECT FROM mirrord.approval WHERE id = %s FOR UPDATE", [request])
        with pytest.raises(Locked):
            await office.work()
    assert office.pages() == ["Alpha.md"]

    await office.work()

    assert office.pages() == ["Alpha.md"]
    outcome = office.agent.calls("create_page", CALL)
    assert isinstance(outcome, dict)
    assert outcome["path"] == "Alpha.md"


async def test_what_one_that_died_had_done_is_told_and_not_done_again(office: Office) -> None:
    request = await office.approved()
    await office.claim(request)
    stored = await office.stored(request)
    assert "result" in execute_request(office.desk, stored.request, stored.level)  # and then it died

    await office.work()

    assert office.pages() == ["Alpha.md"]
    outcome = office.agent.calls("create_page", CALL)
    assert isinstance(outcome, Failed)
    assert (outcome.code, (await office.stored(request)).state) == ("INTERRUPTED", "executed")


async def test_only_the_mirror_that_was_asked_runs_a_request(offices: list[Office]) -> None:
    office, other = offices
    request = await office.approved()
    copy = other.agent.file(request)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(office.agent.file(request).read_bytes())

    await other.work()

    assert (other.pages(), (await other.stored(request)).state) == ([], "approved")
    assert "in another mirror" in other.mirror.problems()[(f".records/approvals/{request}.json", "approval")]
    await office.work()
    assert (office.pages(), (await office.stored(request)).state) == (["Alpha.md"], "executed")
    assert other.agent.says(request)["state"] == "pending"


async def test_a_request_outlives_its_file(office: Office) -> None:
    request = await office.approved()
    office.agent.file(request).unlink()

    await office.work()

    assert office.pages() == ["Alpha.md"]
    assert isinstance(office.agent.calls("create_page", CALL), dict)


TURNS = "Ana: How was it?\nBen: Good.\nAna: Why?\nBen: The light.\n"
SURVEY = "Id,What was good?\nP1,The light\nP2,The quiet\n"
COLUMNS = [{"column": "Id", "target": "identifier"}, {"column": 1, "target": "source_text"}]


async def _done(office: Office, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What an agent gets of a command that a person approved, on the wire."""
    request = office.agent.asks(name, arguments)
    await office.work()
    assert office.agent.says(request)["state"] == "pending", office.agent.says(request)
    office.mirror.app.execute("SELECT mirrord.approve(%s)", [request])
    await office.work()
    outcome = office.agent.calls(name, arguments)
    assert isinstance(outcome, dict), outcome
    return dict(TOOL_OF[name].to_wire(outcome))


async def test_every_tool_that_asks_by_default_is_done_when_a_person_approved(office: Office, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    office.agent.session.attach_from = (outside,)
    survey = outside / "wave.csv"
    survey.write_text(SURVEY)
    (outside / "talk.txt").write_text(TURNS)

    brought = await _done(office, "import_file", {"path": str(outside / "talk.txt")})
    linked = await _done(office, "import_file", {"path": str(outside / "talk.txt"), "copy": False, "name": "Far"})
    folder = await _done(office, "create_folder", {"name": "Talks"})
    renamed = await _done(office, "rename_folder", {"folder_id": folder["folder_id"], "new_name": "Interviews"})
    moved = {"source_id": brought["source_id"], "folder_id": folder["folder_id"]}
    assert (await _done(office, "move_source_to_folder", moved))["folder_id"] == folder["folder_id"]
    detected = await _done(office, "detect_speakers", {"source_id": brought["source_id"]})
    deleted = await _done(office, "delete_source", {"source_id": brought["source_id"]})
    emptied = await _done(office, "delete_folder", {"folder_id": folder["folder_id"]})
    answers = await _done(office, "import_survey", {"path": str(survey), "column_mappings": COLUMNS})

    assert (outside / "talk.txt").as_uri() in (office.agent.session.tree.root / linked["path"]).read_text()
    assert (renamed["old_name"], emptied["name"]) == ("Talks", "Interviews")
    assert (detected["speakers"], detected["count"]) == (["Ana", "Ben"], 2)
    assert deleted["deleted_segments_count"] == 4
    assert (answers["rows_processed"], answers["cases_created"]) == (2, 2)


async def test_a_place_that_no_operator_listed_is_not_linked(office: Office, tmp_path: Path) -> None:
    talk = tmp_path / "talk.txt"
    talk.write_text(TURNS)
    office.agent.session.attach_from = (tmp_path,)
    listed = replace(office.desk.config.agents, attach_from=(tmp_path / "listed",))
    office.desk = replace(office.desk, config=replace(office.desk.config, agents=listed))

    request = office.agent.asks("import_file", {"path": str(talk), "copy": False})
    await office.work()

    failure = office.agent.says(request)["failure"]
    assert failure["code"] == "REFUSED"
    assert "mcp.attach_from" in failure["sentence"]


async def test_drafts_that_nobody_wrote_to_for_14_days_go_and_their_texts_stay_in_the_trash(office: Office) -> None:
    session, drafts = office.agent.session, office.mirror.root / ".mirrord/drafts"
    forgotten, fresh = _draft_with(session, "Forgotten page"), _draft_with(session, "Fresh page")
    _set_back(drafts / forgotten, days=15)

    await office.work()

    assert [draft.name for draft in drafts.iterdir()] == [fresh]
    assert list((drafts / fresh).rglob("Fresh page.md"))
    (trashed,) = trash.list_trash(session.tree)
    assert trashed.card is not None
    assert (trashed.card.path, trashed.card.reason) == ("Forgotten page.md", "its change set was discarded")
    assert not list(office.mirror.root.glob("*page.md"))


def _draft_with(session: Session, title: str) -> str:
    """The id of a draft with a new page, which no connection has open."""
    draft = begin_draft(session, title, LOCAL_OWNER, None)
    create_page(draft.session, title, content="text\n")
    draft.close()
    return draft.facts.id


def _set_back(draft: Path, *, days: int) -> None:
    """Let all of a draft have been written *days* ago."""
    moment = time.time() - days * 86_400
    facts = draft / "draft.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "begun_at": moment}))
    for file in draft.rglob("*"):
        os.utime(file, (moment, moment))
