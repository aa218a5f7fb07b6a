"""A change set of an agent beside a running daemon: its pages keep their ids in rows, and rows name the change set."""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from uuid import UUID

import pytest

from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.rows import page_of

PATIENCE_SECONDS = 60.0  # until the daemon has published a halt
MAX_CALLS = 60  # until the daemon is done, each of up to a second
PAGES = ("Moved", "Edited", "Deleted", "Linking")


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("changes") / "installation", dsn=module_dsn) as running:
        running.file("Projects").mkdir(parents=True)
        (running.directory / "mirrord.toml").write_text('[mcp.trust]\nwrite_page = "SUGGEST"\n', encoding="utf-8")
        for name in PAGES:
            running.file(f"Projects/{name}.md").write_text(f"# {name}\n\n[[Moved]]\n", encoding="utf-8")
        running.up()
        yield running


def agent_of(mirrord: Mirrord) -> AbstractAsyncContextManager[Agent]:
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": mirrord.create_token()}, "--tools", "pages,changes"))


async def test_pages_of_a_change_set_keep_their_ids_and_rows_name_it(mirrord: Mirrord) -> None:
    mirrord.flush()
    async with agent_of(mirrord) as agent:
        ids = {name: (await agent.call("read_page", path=f"Projects/{name}.md"))["pageId"] for name in PAGES}
        opened = await agent.call("begin_changes", title="Tidy up")
        await agent.call("move_page", sourcePath="Projects/Moved.md", destinationPath="Archive/Away.md")
        moved = await agent.call("read_page", path="Archive/Away.md")
        assert moved["pageId"] == ids["Moved"]
        await agent.call("edit_page", path="Archive/Away.md", edits=[{"find": "# Moved", "replace": "# Away"}])
        await agent.call("edit_page", path="Projects/Edited.md", edits=[{"find": "# Edited", "replace": "# New"}])
        await agent.call("delete_page", path="Projects/Deleted.md")
        created = (await agent.call("create_page", title="Fresh", content="text\n"))["pageId"]
        await agent.call("edit_page", path="Projects/Linking.md", edits=[{"find": "# Linking", "replace": "# Trunk"}])
        await agent.call("create_page", title="Branch", parentPath="Projects/Linking", content="text\n")
        await agent.call("apply_changes", message="Tidied")
        assert "# Trunk" in (mirrord.text("Projects/Linking/_index.md") or "")
        mirrord.flush()

        moved_row = page_of(mirrord.app, UUID(ids["Moved"]))
        assert moved_row is not None
        assert moved_row.name == "Away"
        assert "# Away" in (moved_row.markdown or "")
        edited = page_of(mirrord.app, UUID(ids["Edited"]))
        assert edited is not None
        assert "# New" in (edited.markdown or "")
        assert page_of(mirrord.app, UUID(created)) is not None
        deleted = mirrord.app.execute("SELECT deleted_at FROM page WHERE id = %s", [ids["Deleted"]]).fetchone()
        assert deleted is None or deleted[0] is not None

        def is_named() -> bool:
            rows = mirrord.app.execute(
                "SELECT page_id FROM page_revision WHERE change_set = %s", [opened["changeSet"]]
            ).fetchall()
            return {str(row[0]) for row in rows} >= {ids["Moved"], ids["Edited"], ids["Linking"], created}

        eventually(is_named, "versions that name the change set")
        query = "SELECT kind, title, message FROM change_set WHERE id = %s"
        assert mirrord.app.execute(query, [opened["changeSet"]]).fetchone() == ("draft", "Tidy up", "Tidied")


async def test_what_a_person_approves_is_applied_by_the_daemon_as_one_change_set(mirrord: Mirrord) -> None:
    async with agent_of(mirrord) as agent:
        opened = await agent.call("begin_changes", title="Proposal")
        await agent.call("write_page", path="Proposed.md", content="# Proposed\n")
        pending = await agent.call("apply_changes")
        assert pending["status"] == "pending_approval"
        assert mirrord.text("Proposed.md") is None

        requested = "SELECT count(*) FROM approval WHERE state = 'pending'"
        eventually(lambda: value(mirrord.app, requested), "the request in rows")  # each command costs more
        approval = ("approvals", "approve", pending["request_id"], "--tenant", mirrord.tenant)
        eventually(lambda: mirrord.run(*approval).returncode == 0, "the approval of the request, once it is in rows")
        eventually(lambda: mirrord.text("Proposed.md"), "the proposed page")
        for _ in range(MAX_CALLS):
            outcome = await agent.call("apply_changes", changeSet=opened["changeSet"])
            if "changeSet" in outcome:
                break
            # the answer follows the file in a moment; meanwhile the open change set may end
            await agent.reply("sync_status", {"path": "Proposed.md", "wait": 1})
        assert (outcome["changeSet"], outcome["created"]) == (opened["changeSet"], 1)

        query = "SELECT count(*) FROM page_revision WHERE change_set = %s"
        eventually(lambda: value(mirrord.app, query, opened["changeSet"]), "a version that names the change set")


async def test_while_deletions_wait_for_a_person_nothing_is_applied(mirrord: Mirrord) -> None:
    for number in range(40):
        mirrord.file(f"Many {number}.md").write_text("text\n", encoding="utf-8")
    mirrord.flush()
    async with agent_of(mirrord) as agent:
        await agent.call("begin_changes", title="During a halt")
        await agent.call("create_page", title="Later", content="text\n")
        for file in [file for file in mirrord.root.rglob("*.md") if ".mirrord" not in file.parts]:
            file.unlink()  # all of them, which halts however many are seen at once
        halted = "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL"
        eventually(lambda: value(mirrord.app, halted), "the halt in rows", 60.0)  # each command costs more
        eventually(lambda: json.loads(mirrord.run("halts", "--json").stdout), "the halt", 60.0)
        end = time.monotonic() + PATIENCE_SECONDS
        while not (await agent.call("sync_status"))["halted"]:
            assert time.monotonic() < end, "the daemon publishes no halt"

        assert (await agent.refused("apply_changes"))["code"] == "HALTED"
        assert mirrord.text("Later.md") is None
