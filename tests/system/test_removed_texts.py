"""What people, agents, the console and sync make of versions whose texts were removed after their time."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from mirrord.daemon.purges import remove_old_texts
from mirrord.db.database import Database
from mirrord.domain.entry import Actor, TenantId
from mirrord.domain.history_rule import HistoryRule
from mirrord.operations.undo import UndoRequest, undo
from mirrord.operations.undo_plan import REMOVED
from mirrord.web.console_server import last_url
from tests.support.browsing import Browser
from tests.support.change_sets import Work
from tests.support.clients import on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.removed_texts import connect_clock, let_days_pass, purge_texts
from tests.support.rows import Connection

DAY = HistoryRule(timedelta(days=1), 1)
TEXTS = ("one\n", "one\n\ntwo\n", "one\n\ntwo\n\nthree\n")
SENTENCE = "was removed on"


@dataclass(frozen=True, slots=True)
class Installation:
    """A running daemon whose page `Old.md` has three versions, of which the first two have no text any more."""

    mirrord: Mirrord
    token: str
    moment: datetime  # while the second version was the newest


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Installation]:
    with Near(tmp_path_factory.mktemp("removed") / "installation", dsn=module_dsn) as mirrord:
        save(mirrord.directory / "mirrord.toml", '[history]\nkeep = "1d"\nnewest = 1\n')
        save(mirrord.file("Other.md"), "another\n")
        for number, text in enumerate(TEXTS, 1):
            save(mirrord.file("Old.md"), text)
            if number == 1:
                mirrord.up("--console", "0")
            eventually(partial(_has_version, mirrord, number), f"version {number}")
            mirrord.flush()
        tenant = TenantId(value(mirrord.app, "SELECT id FROM mirrord.tenant"))
        query = "SELECT created_at FROM mirrord.page_revision WHERE version = 2"
        with connect_clock(module_dsn) as clock:
            let_days_pass(clock, tenant, 3)
        moment: datetime = value(mirrord.app, query)
        assert asyncio.run(_purge(module_dsn, tenant)) == 2
        yield Installation(mirrord, mirrord.create_token(), moment)


async def _purge(dsn: str, tenant: TenantId) -> int:
    async with Database(dsn, size=1) as database:
        return sum(batch.texts for batch in await purge_texts(database, tenant, DAY))


def _has_version(mirrord: Mirrord, number: int) -> bool:
    page = mirrord.page("Old.md")
    return page is not None and page.version == number


def test_the_history_names_every_version_and_says_which_texts_are_gone(installation: Installation) -> None:
    run = installation.mirrord.run
    lines = run("history", "Old.md").stdout.splitlines()
    assert ["text removed" in line for line in lines] == [False, True, True]
    versions = json.loads(run("history", "Old.md", "--json").stdout)["versions"]
    assert [version["changed"] for version in versions] == [["text"], ["text"], ["created"]]
    assert [version["text_removed_at"] is not None for version in versions] == [False, True, True]
    assert [version["size"] for version in versions] == [len(TEXTS[2]), None, None]


@pytest.mark.parametrize(
    "command",
    [("diff", "Old.md", "2", "3"), ("diff", "Old.md", "1"), ("restore", "Old.md", "--version", "1")],
    ids=" ".join,
)
def test_a_command_that_needs_a_removed_text_says_when_and_why_it_went(
    installation: Installation, command: tuple[str, ...]
) -> None:
    refused = installation.mirrord.run(*command)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert SENTENCE in refused.stderr
    assert "`history.keep` in mirrord.toml" in refused.stderr
    assert installation.mirrord.text("Old.md") == TEXTS[2]


def test_a_restore_of_everything_to_a_moment_without_texts_does_nothing(installation: Installation) -> None:
    moment = installation.moment.astimezone(UTC).isoformat()
    refused = installation.mirrord.run("restore-all", "--at", moment, "--yes")
    assert refused.returncode == 2
    assert "Old had another text at that moment, which was removed" in refused.stderr
    assert installation.mirrord.text("Old.md") == TEXTS[2]


async def test_an_agent_is_told_which_texts_are_gone(installation: Installation) -> None:
    mirrord = installation.mirrord
    surroundings = {"MIRRORD_TOKEN": installation.token}
    async with on_stdio(process(mirrord.mirror, surroundings, "--tools", "pages,changes")) as agent:
        listed = (await agent.call("page_history", path="Old.md"))["versions"]
        assert ["textRemoved" in version for version in listed] == [False, True, True]
        refusals = [
            await agent.refused("read_page", path="Old.md", version=1),
            await agent.refused("diff_page", path="Old.md", **{"from": 2, "to": 3}),
            await agent.refused("restore_page", path="Old.md", version=2),
        ]
        assert {refusal["code"] for refusal in refusals} == {"TEXT_REMOVED"}
        assert all(SENTENCE in refusal["error"] for refusal in refusals)
        assert (await agent.call("read_page", path="Old.md", version=3))["content"] == TEXTS[2]
        long_ago = (installation.moment - timedelta(hours=1)).isoformat()
        changes = (await agent.call("list_changes", since=long_ago))["changes"]
        assert {change["path"] for change in changes} >= {"Old.md"}


def test_the_console_marks_versions_without_a_text_and_says_why_it_shows_none(installation: Installation) -> None:
    mirrord = installation.mirrord
    url = eventually(lambda: last_url(mirrord.data), "the console's address")
    ada = Browser(url).sign_in(mirrord.run("console", "link", "--name", "ada").stdout.strip())
    page = value(mirrord.app, "SELECT id FROM mirrord.page WHERE name = 'Old'")
    listed = ada.get(f"pages/{page}/history")
    assert [(version["has_text"], version["text_removed"]) for version in listed] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    refusals = [
        ada.ask("GET", f"/t/{ada.tenant}/api/pages/{page}/diff?before=2&after=3"),
        ada.ask("POST", f"/t/{ada.tenant}/api/pages/{page}/restore", {"version": 3, "then": 1}),
    ]
    assert [refusal.status for refusal in refusals] == [422, 422]
    assert all(SENTENCE in refusal.json["sentence"] for refusal in refusals)


def test_status_and_doctor_say_what_history_costs_and_by_which_rule_it_ends(installation: Installation) -> None:
    config = ("--config", str(installation.mirrord.directory / "mirrord.toml"))
    (tenant_facts,) = json.loads(installation.mirrord.run("status", "--json", *config).stdout)["tenants"]
    assert tenant_facts["history"] == {
        "versions": 2,
        "removed": 2,
        "bytes": 0,
        "keep": "1 day, and the newest 1 of each page",
    }
    findings = json.loads(installation.mirrord.run("doctor", "--json", *config).stdout)
    (finding,) = [finding for finding in findings if finding["check"] == "history"]
    assert finding["verdict"] == "ok"
    assert "2 have none any more" in finding["sentence"]
    assert "1 day, and the newest 1 of each page" in finding["sentence"]


async def test_a_merge_finds_the_text_that_both_sides_agreed_on_however_old_it_is(
    mirror: Mirror, admin_dsn: str, tenant: TenantId, daemon_connection: Connection
) -> None:
    mirror.write({"Page.md": "first\n\nsecond\n\nthird\n"})
    await mirror.settle()
    for number in range(3):
        mirror.app.execute("UPDATE mirrord.page SET markdown = %s", [f"first {number}\n\nsecond\n\nthird\n"])
    with connect_clock(admin_dsn) as clock:
        let_days_pass(clock, tenant, 2)
    assert await remove_old_texts(mirror.opened.sides, DAY) == 2
    mirror.write({"Page.md": "first\n\nsecond\n\nthird by a person\n"})
    await mirror.settle()
    assert mirror.rows() == {"Page": "first 2\n\nsecond\n\nthird by a person\n"}
    assert mirror.files() == {"Page.md": "first 2\n\nsecond\n\nthird by a person\n"}
    assert value(daemon_connection, "SELECT count(*) FROM mirrord.conflict WHERE resolved_at IS NULL") == 0


async def test_a_file_with_a_removed_text_counts_as_old_where_nothing_is_known_of_it(
    database: Database, app_connection: Connection, tenant: TenantId, admin_dsn: str, tmp_path: Path
) -> None:
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        for text in TEXTS:
            mirror.write({"Page.md": text})
            await mirror.settle()
        with connect_clock(admin_dsn) as clock:
            let_days_pass(clock, tenant, 2)
        assert await remove_old_texts(mirror.opened.sides, DAY) == 2
    async with opened_mirror(database, app_connection, tmp_path / "copy", tenant, is_settled=False) as copied:
        copied.write({"Page.md": TEXTS[0]})
        await copied.settle()
        assert copied.files() == {"Page.md": TEXTS[2]}
        assert copied.rows() == {"Page": TEXTS[2]}
        assert TEXTS[0] in [file.read_text() for file in (copied.root / ".mirrord/trash").iterdir() if file.is_file()]


async def test_an_undo_whose_texts_are_gone_leaves_the_page_and_says_why(
    mirror: Mirror, admin_dsn: str, tenant: TenantId, daemon_connection: Connection
) -> None:
    work = Work(mirror, daemon_connection)
    mirror.write({"Page.md": TEXTS[0], "Kept.md": TEXTS[0]})
    async with work.changing() as old:
        mirror.write({"Page.md": TEXTS[1]})
    mirror.write({"Page.md": TEXTS[2]})
    await work.settle()
    with connect_clock(admin_dsn) as clock:
        let_days_pass(clock, tenant, 2)
    async with work.changing() as recent:
        mirror.write({"Kept.md": TEXTS[1]})
    assert await remove_old_texts(mirror.opened.sides, DAY) == 2
    request = UndoRequest(Actor("human", "ada"), str(old))
    outcome = await undo(mirror.opened.sides.database, tenant, request)
    assert (outcome.change_set, [clash.reason for clash in outcome.clashes]) == (None, [REMOVED])
    undone = await undo(mirror.opened.sides.database, tenant, UndoRequest(Actor("human", "ada"), str(recent)))
    assert undone.clashes == []
    await work.settle()
    assert mirror.files() == {"Page.md": TEXTS[2], "Kept.md": TEXTS[0]}
