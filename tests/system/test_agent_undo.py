"""What one connection of an agent changes is one change set, and names the agent, also where it moves and deletes."""

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from mirrord.mcp.tools.undo_tool import MAX_LISTED
from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

TEXT = "# A page\n\nProject details.\n"
PAGES = ("Written", "Moved", "Deleted", "Shared", "Other")
AUTHOR = {"kind": "agent", "name": "tester", "channel": "file"}


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("changes") / "installation", dsn=module_dsn) as running:
        for name in PAGES:
            save(running.file(f"{name}.md"), TEXT)
        save(running.file("assets/plan.txt"), "a plan\n")
        running.up()
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


def agent_of(mirrord: Mirrord, token: str) -> AbstractAsyncContextManager[Agent]:
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}))


def _named(mirrord: Mirrord, page_id: str) -> tuple[Any, ...]:
    """The version, actor and change set of the newest version, once it has a change set."""
    query = (
        "SELECT version, actor, change_set FROM page_revision "
        "WHERE page_id = %s AND version = (SELECT version FROM page WHERE id = page_id) AND change_set IS NOT NULL"
    )
    return eventually(lambda: mirrord.app.execute(query, [page_id]).fetchone(), "a version with a change set")


def _id_of(mirrord: Mirrord, path: str) -> UUID:
    return eventually(lambda: mirrord.page(path), f"the row of {path}").id


async def test_all_that_a_connection_changes_is_one_change_set_of_its_agent(mirrord: Mirrord, token: str) -> None:
    pages = [str(_id_of(mirrord, f"{name}.md")) for name in ("Written", "Moved", "Deleted")]
    async with agent_of(mirrord, token) as agent:
        edits = [{"find": "details", "replace": "facts"}]
        await agent.call("edit_page", path="Written.md", edits=edits)
        await agent.call("move_page", sourcePath="Moved.md", destinationPath="Away.md")
        await agent.call("delete_page", path="Deleted.md")
        pages.append((await agent.call("create_page", title="Fresh", content=TEXT))["pageId"])
        named = [_named(mirrord, page) for page in pages]
    assert {actor["name"] for _, actor, _ in named} == {"tester"}
    (change_set,) = {change_set for _, _, change_set in named}
    query = "SELECT kind, client, title, actor FROM change_set WHERE id = %s"
    kind, client, title, actor = mirrord.app.execute(query, [change_set]).fetchone() or ()
    assert (kind, bool(client), actor) == ("connection", True, {"kind": "agent", "name": "tester"})
    assert re.fullmatch(r"tester, \d{1,2} [A-Z][a-z]+ \d\d:\d\d", title)  # the client says no more than "mcp"
    updated = mirrord.app.execute("SELECT DISTINCT updated_by FROM page WHERE id = ANY (%s)", [pages]).fetchall()
    assert updated == [(AUTHOR,)]


@pytest.mark.parametrize("path", ["Rooted.md", "Folder/Inside.md", "Folder/_index.md"])
async def test_an_attachment_beside_any_page_is_its_agents_and_is_undone(
    mirrord: Mirrord, token: str, path: str
) -> None:
    save(mirrord.file(path), TEXT)
    _id_of(mirrord, path)
    name = f"{Path(path).stem}.txt"
    async with _undoer(mirrord, token) as agent:
        bytes_of_file = b64encode(name.encode()).decode()
        added = await agent.call("add_attachment", pagePath=path, base64=bytes_of_file, fileName=name)
        file = mirrord.file(path).parent / added["relativePath"]
        assert file.is_file()
        query = "SELECT actor FROM attachment_revision WHERE change_set IS NOT NULL AND name = %s"
        author = eventually(lambda: mirrord.app.execute(query, [name]).fetchone(), "a version with a change set")
        assert author == (AUTHOR,)
        answer = await agent.call("undo_changes")
    assert (answer["undone"], answer["left"]) == (True, [])
    eventually(lambda: not file.exists(), "the file is gone")


async def test_two_connections_are_two_change_sets(mirrord: Mirrord, token: str) -> None:
    pages = []
    for number in range(2):
        async with agent_of(mirrord, token) as agent:
            pages.append((await agent.call("create_page", title=f"Twin {number}", content=TEXT))["pageId"])
    assert len({_named(mirrord, page)[2] for page in pages}) == 2


async def test_a_person_who_edits_in_between_keeps_their_version(mirrord: Mirrord, token: str) -> None:
    page = str(_id_of(mirrord, "Shared.md"))
    async with agent_of(mirrord, token) as agent:
        await agent.call("edit_page", path="Shared.md", edits=[{"find": "details", "replace": "facts"}])
        first = _named(mirrord, page)[0]
        save(mirrord.file("Shared.md"), TEXT.replace("details", "facts") + "\nBy a person.\n")
        newer = "SELECT version > %s FROM page WHERE id = %s"
        eventually(lambda: value(mirrord.app, newer, first, page), "the person's version")
        await agent.call("edit_page", path="Shared.md", edits=[{"find": "facts", "replace": "figures"}])
        last = _named(mirrord, page)[0]
    query = (
        "SELECT actor ->> 'name', change_set IS NULL FROM page_revision "
        "WHERE page_id = %s AND version >= %s ORDER BY version"
    )
    assert mirrord.app.execute(query, [page, first]).fetchall() == [
        ("tester", False),
        ("file", True),
        ("tester", False),
    ]
    assert last == first + 2


async def test_what_an_agent_did_while_no_daemon_ran_is_its_own(mirrord: Mirrord, token: str) -> None:
    page = str(_id_of(mirrord, "Other.md"))
    mirrord.stop()
    async with agent_of(mirrord, token) as agent:
        await agent.call("move_page", sourcePath="Other.md", destinationPath="Elsewhere.md")
    mirrord.up()
    assert _named(mirrord, page)[1] == AUTHOR


def test_what_people_write_belongs_to_no_change_set(mirrord: Mirrord) -> None:
    save(mirrord.file("By a person.md"), TEXT)
    page = _id_of(mirrord, "By a person.md")
    mirrord.flush()
    assert value(mirrord.app, "SELECT count(change_set) FROM page_revision WHERE page_id = %s", page) == 0


def _undoer(mirrord: Mirrord, token: str) -> AbstractAsyncContextManager[Agent]:
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes"))


async def test_an_agent_undoes_what_its_connection_changed_and_redoes_it(mirrord: Mirrord, token: str) -> None:
    save(mirrord.file("Undone.md"), TEXT)
    _id_of(mirrord, "Undone.md")
    async with _undoer(mirrord, token) as agent:
        await agent.call("edit_page", path="Undone.md", edits=[{"find": "details", "replace": "facts"}])
        await agent.call("write_page", path="Undone folder/Made.md", content=TEXT)
        undone = await agent.call("undo_changes")
        assert (undone["undone"], sorted(undone["changes"]), undone["left"]) == (
            True,
            ["Made: is deleted", "Undone folder: is deleted", "Undone: gets its earlier text"],
            [],
        )
        eventually(lambda: mirrord.text("Undone.md") == TEXT, "the earlier text in the file")
        eventually(lambda: not mirrord.file("Undone folder").exists(), "the end of the folder")
        redone = await agent.call("undo_changes", changeSet=undone["changeSet"])
        assert redone["undone"]
        eventually(lambda: "facts" in (mirrord.text("Undone.md") or ""), "the text again")
        eventually(mirrord.file("Undone folder/Made.md").exists, "the page again")


RESTRUCTURED = {
    "Topic/Long.md": "# Long\n\n## First #draft\n\none [[Long#Second]]\n\n## Second\n\ntwo ![](assets/x.txt)\n",
    "Topic/Short/_index.md": "# Short\n\n[[Long#First draft]]\n",
    "Topic/Short/Child.md": "[[Short]] #draft\n",
    "Topic/assets/x.txt": "x",
}


async def test_what_was_split_merged_renamed_and_edited_comes_back_in_one_step(mirrord: Mirrord, token: str) -> None:
    for path, text in RESTRUCTURED.items():
        save(mirrord.file(path), text)
    pages = {path: _id_of(mirrord, path) for path in RESTRUCTURED if path.endswith(".md")}

    def files() -> dict[str, str | None]:
        paths = (file for file in mirrord.file("Topic").rglob("*") if file.is_file())
        names = sorted(str(file.relative_to(mirrord.file("Topic").parent)) for file in paths)
        return {name: mirrord.text(name) for name in names}

    async with on_stdio(
        process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes,restructure")
    ) as agent:
        await agent.call("edit_pages", path="Topic", edits=[{"tag": "draft", "replace": "final"}])
        await agent.call("rename_heading", path="Topic/Long", heading="Second", to="Last")
        await agent.call("split_page", path="Topic/Long", level=2, parentPath="Topic/Long")
        await agent.call("merge_pages", paths=["Topic/Short"], into="Topic/Long")
        mirrord.flush()
        assert {_id_of(mirrord, path) for path in ("Topic/Long/_index.md", "Topic/Long/Child.md")} == {
            pages["Topic/Long.md"],
            pages["Topic/Short/Child.md"],
        }
        undone = await agent.call("undo_changes")
        assert (undone["undone"], undone["left"]) == (True, [])
        eventually(lambda: files() == RESTRUCTURED, "all texts as they were, under their names")
    assert {path: _id_of(mirrord, path) for path in pages} == pages


async def test_an_agent_is_told_what_it_cannot_undo(mirrord: Mirrord, token: str) -> None:
    save(mirrord.file("Clash.md"), TEXT)
    _id_of(mirrord, "Clash.md")
    async with _undoer(mirrord, token) as agent:
        assert (await agent.refused("undo_changes"))["code"] == "NOTHING_TO_UNDO"
        unknown = await agent.refused("undo_changes", changeSet="0190f3c2-7a1b-7c3d-8e4f-0123456789ab")
        assert (unknown["code"], "There is no change set" in unknown["error"]) == ("UNKNOWN_CHANGE_SET", True)
        assert ("mirrord" in unknown["error"], "changes_status" in unknown["instruction"]) == (False, True)
        edited = await agent.call("edit_page", path="Clash.md", edits=[{"find": "details", "replace": "facts"}])
        change_set = str(_named(mirrord, edited["pageId"])[2])
        save(mirrord.file("Clash.md"), "# Rewritten by a person\n")
        eventually(lambda: _text(mirrord, edited["pageId"]).startswith("# Rewritten"), "the person's text")
        clash = await agent.call("undo_changes")
        assert (clash["undone"], clash["changes"], [entry["name"] for entry in clash["left"]]) == (False, [], ["Clash"])
        mirrord.app.execute(
            "UPDATE page SET markdown = %s WHERE id = %s", [TEXT.replace("details", "facts"), edited["pageId"]]
        )
        eventually(lambda: "facts" in (mirrord.text("Clash.md") or ""), "the agent's text")
        assert (await agent.call("undo_changes"))["undone"]
        again = await agent.refused("undo_changes", changeSet=change_set)
        assert (again["code"], "undone already" in again["error"]) == ("REFUSED", True)


async def test_an_agent_finds_the_change_set_of_an_earlier_connection_and_undoes_it(mirrord: Mirrord) -> None:
    token = mirrord.create_token("returning")
    async with _undoer(mirrord, token) as agent:
        assert (await agent.call("changes_status"))["others"] == []
        await agent.call("create_page", title="Of before", content=TEXT)
        await agent.call("begin_changes", title="Tidy up")
        await agent.call("create_page", title="Of a draft", content=TEXT)
        draft = (await agent.call("apply_changes"))["changeSet"]
    async with _undoer(mirrord, token) as agent:
        refused = await agent.refused("undo_changes")
        assert (refused["code"], "changes_status" in refused["instruction"]) == ("NOTHING_TO_UNDO", True)
        applied, earlier = (await agent.call("changes_status"))["others"]
        assert (applied["changeSet"], applied["state"], earlier["state"]) == (draft, "applied", "applied")
        assert (earlier["kind"], earlier["pages"]) == ("connection", 1)
        undone = await agent.call("undo_changes", changeSet=earlier["changeSet"])
        assert undone["changes"] == ["Of before: is deleted"]
        undone_draft = await agent.call("undo_changes", changeSet=draft)
        of_draft, of_connection, applied, earlier = (await agent.call("changes_status"))["others"]
        assert (of_connection["changeSet"], of_draft["changeSet"]) == (undone["changeSet"], undone_draft["changeSet"])
        assert (earlier["state"], earlier["undoneBy"]) == ("undone", undone["changeSet"])
        assert (applied["state"], applied["undoneBy"]) == ("undone", undone_draft["changeSet"])
        assert (of_draft["kind"], of_draft["state"]) == ("undo", "applied")
        mirrord.stop()
        without_daemon = await agent.call("changes_status")
        assert [change_set["changeSet"] for change_set in without_daemon["others"]] == [draft]
        assert "daemon" in without_daemon["note"]
    mirrord.up()


async def test_an_undo_of_many_pages_says_how_many_and_how_to_see_the_others(mirrord: Mirrord, token: str) -> None:
    count = MAX_LISTED + 5
    for number in range(count):
        save(mirrord.file(f"Many/{number:02}.md"), TEXT)
    rows = "SELECT count(*) = %s FROM page AS inner_page JOIN page AS folder ON folder.id = inner_page.parent_id "
    eventually(lambda: value(mirrord.app, rows + "WHERE folder.name = 'Many'", count), "the rows")
    tools = "--tools", "changes,restructure"
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, *tools)) as agent:
        await agent.call("edit_pages", path="Many", edits=[{"find": "details", "replace": "facts"}])
        undone = await agent.call("undo_changes")
    assert (len(undone["changes"]), undone["changesCount"]) == (MAX_LISTED, count)
    assert "list_changes" in undone["hint"]


async def test_an_agent_undoes_nothing_of_others_and_nothing_without_a_daemon(mirrord: Mirrord, token: str) -> None:
    other = mirrord.create_token("another")
    async with agent_of(mirrord, other) as agent:
        page = (await agent.call("create_page", title="Theirs", content=TEXT))["pageId"]
        change_set = str(_named(mirrord, page)[2])
    async with _undoer(mirrord, token) as agent:
        refused = await agent.refused("undo_changes", changeSet=change_set)
        assert (refused["code"], "its own changes only" in refused["error"]) == ("REFUSED", True)
        mirrord.stop()
        down = await agent.refused("undo_changes", changeSet=change_set)
        assert (down["code"], "mirrord up" in down["instruction"]) == ("DAEMON_DOWN", True)
    mirrord.up()


async def test_an_app_asks_for_an_undo_in_sql(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        page = (await agent.call("create_page", title="By SQL", content=TEXT))["pageId"]
        change_set = _named(mirrord, page)[2]
    request = value(mirrord.app, "SELECT mirrord.undo_change_set(%s)", change_set)
    answer = "SELECT state, outcome FROM change_set WHERE id = %s AND state <> 'requested'"
    state, outcome = eventually(lambda: mirrord.app.execute(answer, [request]).fetchone(), "the answer")
    assert (state, [change["name"] for change in outcome["changes"]]) == ("applied", ["By SQL"])
    assert value(mirrord.app, "SELECT deleted_at IS NOT NULL FROM page WHERE id = %s", page)
    request = value(mirrord.app, "SELECT mirrord.undo_change_set(%s)", change_set)
    state, outcome = eventually(lambda: mirrord.app.execute(answer, [request]).fetchone(), "the answer")
    assert (state, "undone already" in outcome["refused"]) == ("refused", True)


def _text(mirrord: Mirrord, page_id: str) -> str:
    return str(value(mirrord.app, "SELECT markdown FROM page WHERE id = %s", page_id) or "")


def _has_text(mirrord: Mirrord, path: str, text: str) -> bool:
    return mirrord.text(path) == text


SCOPED = {
    "Open/Plan.md": "# Plan\n\nFirst.\n",
    "Open/Text.md": TEXT,
    "Read/Text.md": TEXT + "\nSee [[Plan]].\n",
    "Shut/Text.md": TEXT + "\nSee [[Plan]] and [it](../Open/Plan.md).\n",
    "Read/Other.md": TEXT,
    "Shut/Other.md": TEXT,
}


@pytest.fixture(scope="module")
def scoped(mirrord: Mirrord) -> str:
    """A token for a part of the tree, of an agent that has another one for all of it."""
    for path, text in SCOPED.items():
        save(mirrord.file(path), text)
        _id_of(mirrord, path)
    return mirrord.create_token("both", "--write", "Open/**", "--read", "Read/**")


async def test_an_undo_within_a_scope_takes_back_links_in_hidden_pages_and_names_none(
    mirrord: Mirrord, scoped: str
) -> None:
    async with _undoer(mirrord, scoped) as agent:
        await agent.call("move_page", sourcePath="Open/Plan.md", destinationPath="Open/Scheme.md")
        await agent.call("edit_page", path="Open/Text.md", edits=[{"find": "details", "replace": "facts"}])
        await agent.call("write_page", path="Open/New.md", content=TEXT)
        assert "[[Scheme]] and [it](../Open/Scheme.md)" in (mirrord.text("Shut/Text.md") or "")
        undone = await agent.call("undo_changes")
    assert sorted(change.partition(":")[0] for change in undone["changes"]) == ["New", "Plan", "Text", "Text"]
    assert undone["left"] == []
    for path, text in SCOPED.items():
        eventually(partial(_has_text, mirrord, path, text), f"the earlier text of {path}")
    assert not mirrord.file("Open/Scheme.md").exists()


async def test_an_undo_within_a_scope_leaves_and_hides_what_another_token_of_the_agent_changed_elsewhere(
    mirrord: Mirrord, scoped: str
) -> None:
    wide_token, sets = mirrord.create_token("both"), []
    for paths in (("Shut/Other.md",), ("Open/Text.md", "Shut/Other.md", "Read/Other.md")):
        async with _undoer(mirrord, wide_token) as agent:
            for path in paths:
                await agent.call("edit_page", path=path, edits=[{"find": "# A page", "replace": "# A page."}])
            sets.append(str(_named(mirrord, str(_id_of(mirrord, paths[-1])))[2]))
    async with _undoer(mirrord, mirrord.create_token("someone")) as agent:
        page = await agent.call("create_page", title="Another's", content=TEXT)
        sets.append(str(_named(mirrord, page["pageId"])[2]))
    async with _undoer(mirrord, scoped) as agent:
        hidden_set, mixed_set, foreign_set = sets
        missing = "0190f3c2-7a1b-7c3d-8e4f-0123456789ab"
        refusals = [
            await agent.refused("undo_changes", changeSet=name)
            for name in (missing, hidden_set, foreign_set, mixed_set[:20], "01", "no id")
        ]
        clash = await agent.call("undo_changes", changeSet=mixed_set)
        listed = [change_set["changeSet"] for change_set in (await agent.call("changes_status"))["others"]]
        assert (mixed_set in listed, hidden_set in listed, foreign_set in listed) == (True, False, False)
        undone = await agent.call("undo_changes", changeSet=mixed_set, partial=True)
        again = await agent.refused("undo_changes", changeSet=undone["changeSet"][:13])
    assert {(refusal["code"], refusal["error"]) for refusal in [*refusals, again]} == {
        ("UNKNOWN_CHANGE_SET", refusals[0]["error"])
    }
    assert (clash["undone"], [entry["name"] for entry in clash["left"]]) == (False, ["Other"])
    assert "outside what this token may write" in clash["left"][0]["reason"]
    assert undone["changes"] == ["Text: gets its earlier text"]
    eventually(lambda: mirrord.text("Open/Text.md") == SCOPED["Open/Text.md"], "the earlier text")
    assert "A page." in (mirrord.text("Shut/Other.md") or "")
    assert value(mirrord.app, "SELECT undone_by IS NULL FROM change_set WHERE id = %s", mixed_set)


async def test_an_undo_within_a_scope_renames_no_file_that_the_scope_hides(mirrord: Mirrord, scoped: str) -> None:
    save(mirrord.file("Shut/Leaf.md"), TEXT)
    leaf = _id_of(mirrord, "Shut/Leaf.md")
    async with _undoer(mirrord, mirrord.create_token("both")) as agent:
        await agent.call("edit_page", path="Open/Text.md", edits=[{"find": "# A page", "replace": "# A page!"}])
        await agent.call("create_page", title="Below", content=TEXT, parentPath="Shut/Leaf")
        has_index = "SELECT index FROM page WHERE id = %s"
        eventually(lambda: value(mirrord.app, has_index, leaf), "the page of the folder in rows")
        change_set = str(_named(mirrord, str(_id_of(mirrord, "Open/Text.md")))[2])
        _named(mirrord, str(leaf))
    async with _undoer(mirrord, scoped) as agent:
        undone = await agent.call("undo_changes", changeSet=change_set)
    assert undone["changes"] == ["Text: gets its earlier text"]
    assert value(mirrord.app, has_index, leaf)
    mirrord.flush()
    assert mirrord.text("Shut/Leaf/_index.md") == TEXT
    assert mirrord.text("Shut/Leaf/Below.md") is not None


async def test_without_an_id_the_last_draft_is_undone_where_nothing_was_changed_beside_it(
    mirrord: Mirrord, token: str
) -> None:
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes")) as agent:
        nothing = await agent.refused("undo_changes")
        await agent.call("begin_changes", title="Once")
        await agent.call("create_page", title="Drafted", content=TEXT)
        await agent.call("apply_changes")
        undone = await agent.call("undo_changes")
        eventually(lambda: not mirrord.file("Drafted.md").exists(), "the page is gone again")
        again = await agent.refused("undo_changes")

    assert undone["changes"] == ["Drafted: is deleted"]
    assert nothing["code"] == "NOTHING_TO_UNDO"
    assert undone["changeSet"] in again["error"]  # it was undone already, by that one


async def test_the_last_draft_is_not_undone_in_place_of_a_change_that_is_not_taken_in_yet(
    mirrord: Mirrord, token: str, module_dsn: str
) -> None:
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes")) as agent:
        await agent.call("begin_changes", title="Earlier")
        await agent.call("create_page", title="Kept", content=TEXT)
        await agent.call("apply_changes")
        eventually(lambda: mirrord.page("Kept.md"), "the row of the applied page")
        with psycopg.connect(module_dsn) as busy:
            busy.execute("LOCK TABLE mirrord.event IN SHARE ROW EXCLUSIVE MODE")  # Postgres takes no event in meanwhile
            await agent.call("create_page", title="Later", content=TEXT)
            refused = await agent.refused("undo_changes")

    assert refused["code"] == "CONFLICT"
    assert mirrord.file("Kept.md").exists()
