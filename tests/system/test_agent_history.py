"""What agents learn of history: what changed since, the versions of a page, their difference, and the trash."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from mirrord.operations.change_listing import MAX_ANSWER_BYTES
from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

TEXT = "# A page\n\nProject details.\n"
PAGES = ("Edited", "Moved", "Deleted", "Reverted", "Old", "Bystander", "Shared")
MAX_BYTES = 8 * 1024  # bytes of an answer
MAX_CALLS = 50  # until all authors are known


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("history") / "installation", dsn=module_dsn) as running:
        for name in PAGES:
            save(running.file(f"{name}.md"), TEXT)
        running.up()
        for name in PAGES:
            eventually(partial(running.page, f"{name}.md"), f"the row of {name}")
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


def agent_of(mirrord: Mirrord, token: str) -> AbstractAsyncContextManager[Agent]:
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes"))


def now(mirrord: Mirrord) -> str:
    moment: datetime = value(mirrord.app, "SELECT clock_timestamp()")
    return moment.isoformat()


def by_path(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {change["path"]: change for change in answer["changes"]}


async def test_every_kind_of_change_is_one_line_with_author_and_lines(mirrord: Mirrord, token: str) -> None:
    start = now(mirrord)
    async with agent_of(mirrord, token) as agent:
        await agent.call("edit_page", path="Edited.md", edits=[{"find": "details.", "replace": "facts.\nMore."}])
        await agent.call("move_page", sourcePath="Moved.md", destinationPath="Away.md")
        await agent.call("delete_page", path="Deleted.md")
        await agent.call("create_page", title="Fresh", content=TEXT)
        await agent.call("edit_page", path="Reverted.md", edits=[{"find": "details", "replace": "facts"}])
        await agent.call("edit_page", path="Reverted.md", edits=[{"find": "facts", "replace": "details"}])
        for _ in range(MAX_CALLS):
            answer = await agent.call("list_changes", since=start)
            changes = by_path(answer)
            if all(change["by"] == "agent tester" for change in changes.values()):
                break  # on a busy machine, the author of a deletion is known a moment after it
    kinds = {path: change["kind"] for path, change in changes.items()}
    assert kinds == {"Edited.md": "edited", "Away.md": "moved", "Deleted.md": "deleted", "Fresh.md": "created"}
    assert {path: change["by"] for path, change in changes.items()} == dict.fromkeys(kinds, "agent tester")
    assert (changes["Edited.md"]["added"], changes["Edited.md"]["removed"]) == (2, 1)
    assert (changes["Away.md"]["from"], "added" in changes["Away.md"]) == ("Moved.md", False)
    assert changes["Deleted.md"]["removed"] == 3
    assert "nextCursor" not in answer


async def test_a_folder_that_a_change_set_deletes_is_deleted_by_its_agent_and_comes_back_with_its_page(
    mirrord: Mirrord, token: str
) -> None:
    save(mirrord.file("Bin/Inner.md"), TEXT)
    eventually(lambda: mirrord.page("Bin/Inner.md"), "the row of Bin/Inner.md")
    start = now(mirrord)
    async with agent_of(mirrord, token) as agent:
        await agent.call("begin_changes", title="Empty the bin")
        folder = (await agent.call("delete_page", path="Bin", recursive=True))["pageId"]
        await agent.call("apply_changes")
        authors = dict.fromkeys(("Bin", "Bin/Inner.md"), "agent tester")
        for _ in range(MAX_CALLS):
            changes = by_path(await agent.call("list_changes", since=start))
            named = {path: change["by"] for path, change in changes.items() if path in authors}
            if named == authors:
                break  # as above
        assert named == authors
        undone = await agent.call("undo_changes")
    assert len(undone["changes"]) == 2
    assert value(mirrord.app, "SELECT deleted_at IS NULL FROM page WHERE id = %s", [folder])
    assert eventually(lambda: mirrord.text("Bin/Inner.md"), "the page is back") == TEXT


async def test_the_last_look_is_remembered_by_actor_and_not_by_connection(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        assert by_path(await agent.call("list_changes"))
        assert (await agent.call("list_changes"))["changes"] == []
    save(mirrord.file("Bystander.md"), TEXT + "\nBy a person.\n")
    eventually(lambda: "person" in text_of(mirrord, "Bystander.md"), "the person's text")
    async with agent_of(mirrord, token) as agent:
        assert (await agent.call("list_changes", path="Shared.md"))["changes"] == []  # no look at everything
        changes = by_path(await agent.call("list_changes", since="last_look"))
        assert {path: (change["kind"], change["by"]) for path, change in changes.items()} == {
            "Bystander.md": ("edited", "human file")
        }
        assert (await agent.call("list_changes"))["changes"] == []
    async with agent_of(mirrord, mirrord.create_token("another")) as agent:
        assert "Bystander.md" in by_path(await agent.call("list_changes"))


async def test_changes_are_chosen_by_author_and_place_and_since_a_change_set(mirrord: Mirrord, token: str) -> None:
    start = now(mirrord)
    async with agent_of(mirrord, token) as agent:
        page = (await agent.call("write_page", path="Corner/Inside.md", content=TEXT))["pageId"]
        await agent.call("write_page", path="Cornerstone.md", content=TEXT)
        inside = by_path(await agent.call("list_changes", since=start, path="Corner"))
        assert "Corner/Inside.md" in inside
        assert "Cornerstone.md" not in inside
        assert (await agent.call("list_changes", since=start, by="nobody of this name"))["changes"] == []
        query = "SELECT change_set FROM page_revision WHERE page_id = %s AND change_set IS NOT NULL"
        change_set = str(eventually(lambda: value(mirrord.app, query, page), "the change set"))
        save(mirrord.file("Shared.md"), TEXT + "\nLater.\n")
        eventually(lambda: "Later" in text_of(mirrord, "Shared.md"), "the person's text")
        assert [*by_path(await agent.call("list_changes", since=change_set))] == ["Shared.md"]
        assert [*by_path(await agent.call("list_changes", since=start, by="file"))] == ["Shared.md"]
        listed = await agent.call("list_changes", since=start)
        for author in {change["by"] for change in listed["changes"]}:
            by_author = await agent.call("list_changes", since=start, by=author)
            assert {*by_path(by_author)} >= {change["path"] for change in listed["changes"] if change["by"] == author}


@pytest.mark.parametrize("since", ["yesterday", "3 days ago", "2 hours ago", "an hour ago", "00:00", "2026-01-31"])
async def test_a_period_begins_where_people_say_it_does(mirrord: Mirrord, token: str, since: str) -> None:
    async with agent_of(mirrord, token) as agent:
        begin = (await agent.call("list_changes", since=since, path="Edited.md"))["since"]
        assert datetime.fromisoformat(begin) <= datetime.now(UTC)
        refused = await agent.refused("list_changes", since="the day before")
    assert refused["code"] == "INVALID_TIME"
    assert all(form in refused["instruction"] for form in ("yesterday", "2 hours ago", "14:00", "last_look"))


async def test_long_lists_come_in_parts_of_8_kilobytes_and_each_change_once(mirrord: Mirrord, token: str) -> None:
    start, names = now(mirrord), {f"Many pages of a long list, number {number:03}.md" for number in range(120)}
    for name in names:
        save(mirrord.file(name), TEXT)
    count = "SELECT count(*) = %s FROM page WHERE name LIKE 'Many pages%%' AND deleted_at IS NULL"
    eventually(lambda: value(mirrord.app, count, len(names)), "the rows")
    async with agent_of(mirrord, token) as agent:
        listed, answer = list[str](), await agent.call("list_changes", since=start)
        while True:
            assert len(json.dumps(answer)) <= MAX_BYTES
            listed += [change["path"] for change in answer["changes"]]
            if "nextCursor" not in answer:
                break
            answer = await agent.call("list_changes", since=start, cursor=answer["nextCursor"])
        assert (len(listed), set(listed)) == (len(names), names)
        refused = await agent.refused("list_changes", since=start, by="tester", cursor="bm9uc2Vuc2U")
    assert refused["code"] == "INVALID_CURSOR"
    assert MAX_ANSWER_BYTES < MAX_BYTES


async def test_what_cannot_be_answered_is_told_with_the_call_that_helps(mirrord: Mirrord, token: str) -> None:
    future = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    expected: dict[str, tuple[str, dict[str, Any]]] = {
        "INVALID_TIME": ("list_changes", {"since": future}),
        "UNKNOWN_CHANGE_SET": ("list_changes", {"since": "0190f3c2-7a1b-7c3d-8e4f-0123456789ab"}),
        "PATH_NOT_FOUND": ("list_changes", {"path": "No such folder"}),
        "PAGE_NOT_FOUND": ("page_history", {"path": "No such page.md"}),
        "UNKNOWN_VERSION": ("diff_page", {"path": "Edited.md", "from": 1, "to": 99}),
    }
    async with agent_of(mirrord, token) as agent:
        refusals = {code: await agent.refused(tool, **arguments) for code, (tool, arguments) in expected.items()}
        assert (await agent.refused("list_changes", since="yesterday noon"))["code"] == "INVALID_TIME"
    assert {code: refused["code"] for code, refused in refusals.items()} == {code: code for code in expected}
    assert "in the future" in refusals["INVALID_TIME"]["error"]
    assert "page_history" in refusals["UNKNOWN_VERSION"]["instruction"]
    assert "mirrord" not in refusals["PAGE_NOT_FOUND"]["error"]
    assert "list_pages" in refusals["PAGE_NOT_FOUND"]["instruction"]


async def test_a_question_that_postgres_cannot_take_ends_no_daemon(mirrord: Mirrord, token: str) -> None:
    odd_questions: list[tuple[str, dict[str, Any]]] = [
        ("list_changes", {"by": "a\0b"}),
        ("list_changes", {"path": "a\0b"}),
        ("list_changes", {"since": "0\0"}),
        ("page_history", {"path": "a\0b"}),
        ("diff_page", {"path": "a\0b"}),
        ("read_page", {"path": "a\0b", "version": 1}),
        ("diff_page", {"path": "Edited.md", "from": (1 << 62) - 1}),
        ("page_history", {"path": "Edited.md", "before": 1 << 63}),
    ]
    async with agent_of(mirrord, token) as agent:
        for tool, arguments in odd_questions:
            reply = await agent.reply(tool, arguments)
            code = (reply.structured_content or {}).get("code", "")
            assert not reply.is_error or code.startswith("INVALID_") or code == "UNKNOWN_VERSION", (
                tool,
                arguments,
                code,
            )
        assert (await agent.call("page_history", path="Edited.md"))["versions"]


async def test_the_history_of_a_page_and_the_difference_of_versions(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        await agent.call("write_page", path="Versions.md", content="# Versions\n\nfirst\n")
        await agent.call("list_changes")  # waits until it is in rows
        await agent.call("edit_page", path="Versions.md", edits=[{"find": "first", "replace": "second"}])
        history = await agent.call("page_history", path="Versions.md")
        newest = history["versions"][0]
        assert (newest["by"], newest["changed"], history["path"]) == ("agent tester", "text", "Versions.md")
        assert history["versions"][-1]["changed"] == "created"
        older = await agent.call("page_history", path="Versions.md", before=newest["version"])
        assert older["versions"] == history["versions"][1:]
        difference = await agent.call("diff_page", path="Versions.md")
        assert {"-first", "+second"} <= set(difference["diff"].splitlines())
        assert difference["to"] == newest["version"]
        first = history["versions"][-1]["version"]
        same = await agent.call("diff_page", path="Versions.md", **{"from": first, "to": first})
        assert same["diff"] == ""


async def test_questions_leave_no_files_and_need_a_daemon_but_no_right_to_write(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as writer:
        await writer.call("write_page", path="Trashed.md", content=TEXT)
        await writer.call("delete_page", path="Trashed.md")
    async with agent_of(mirrord, mirrord.create_token("reader", "--scope", "read")) as agent:
        assert (await agent.call("page_history", path="Edited.md"))["versions"]
        deleted = (await agent.call("list_trash"))["trash"]
        assert "Trashed.md" in [page["path"] for page in deleted]
        assert list((mirrord.file(".records") / "questions").iterdir()) == []
        mirrord.stop()
        down = await agent.refused("list_changes")
        assert (down["code"], "mirrord up" in down["instruction"]) == ("DAEMON_DOWN", True)
        assert (await agent.call("list_trash"))["trash"] == deleted
    mirrord.up()


async def test_a_page_comes_back_by_what_the_trash_lists(mirrord: Mirrord, token: str) -> None:
    async with agent_of(mirrord, token) as agent:
        await agent.call("delete_page", path="Old.md")
        (trash_id,) = [
            page["trashId"] for page in (await agent.call("list_trash"))["trash"] if page["path"] == "Old.md"
        ]
        await agent.call("restore_page", trashId=trash_id)
    assert mirrord.text("Old.md") == TEXT


def text_of(mirrord: Mirrord, path: str) -> str:
    row = mirrord.page(path)
    return str(value(mirrord.app, "SELECT markdown FROM page WHERE id = %s", row.id) or "") if row is not None else ""


async def test_what_a_page_said_then_is_read_by_its_version_also_in_a_draft(mirrord: Mirrord, token: str) -> None:
    save(mirrord.file("Versioned.md"), TEXT)
    eventually(partial(mirrord.page, "Versioned.md"), "the row of Versioned")
    async with agent_of(mirrord, token) as agent:
        await agent.call("edit_page", path="Versioned.md", edits=[{"find": "details", "replace": "facts"}])
        mirrord.flush()
        newest = (await agent.call("page_history", path="Versioned.md"))["versions"][0]["version"]
        assert newest == 2
        first = await agent.call("read_page", path="Versioned.md", version=1)
        assert (first["content"], first["version"], first["totalChars"]) == (TEXT, 1, len(TEXT))
        part = await agent.call("read_page", path="Versioned.md", version=1, offset=2, limit=6)
        assert (part["content"], part["nextOffset"]) == ("A page", 8)

        await agent.call("begin_changes", title="Look back")
        await agent.call("edit_page", path="Versioned.md", edits=[{"find": "facts", "replace": "ideas"}])
        assert (await agent.call("read_page", path="Versioned.md", version=1))["content"] == TEXT
        assert "ideas" in (await agent.call("read_page", path="Versioned.md"))["content"]
        await agent.call("discard_changes")

        assert (await agent.refused("read_page", path="Versioned.md", version=9))["code"] == "UNKNOWN_VERSION"
        both = await agent.refused("read_page", path="Versioned.md", version=1, outline=True)
        assert both["code"] == "INVALID_ARGUMENTS"


async def test_an_earlier_version_comes_back_as_the_next_and_in_a_draft_only_there(
    mirrord: Mirrord, token: str
) -> None:
    async with agent_of(mirrord, token) as agent:
        page = await agent.call("create_page", title="Gone back", content=TEXT)
        await agent.call("edit_page", path="Gone back.md", edits=[{"find": "details", "replace": "facts"}])
        edited = mirrord.text("Gone back.md")
        await agent.call("begin_changes", title="Go back")
        drafted = await agent.call("restore_page", path="Gone back.md", version=1)
        assert (mirrord.text("Gone back.md"), drafted["pageId"]) == (edited, page["pageId"])
        await agent.call("discard_changes")
        back = await agent.call("restore_page", path="Gone back.md", version=1)
        assert (back["digest"], back["created"]) == (page["digest"], False)
        history = await agent.call("page_history", path="Gone back.md")
        assert [version["version"] for version in history["versions"]] == [3, 2, 1]

        assert (await agent.refused("restore_page", path="Gone back.md", version=9))["code"] == "UNKNOWN_VERSION"
        for arguments in ({}, {"version": 1}, {"trashId": "0" * 16, "version": 1, "path": "Gone back.md"}):
            assert (await agent.refused("restore_page", **arguments))["code"] == "INVALID_ARGUMENTS"


async def test_an_earlier_text_does_not_count_as_shown(mirrord: Mirrord, token: str) -> None:
    save(mirrord.file("Unshown.md"), TEXT)
    eventually(partial(mirrord.page, "Unshown.md"), "the row of Unshown")
    async with agent_of(mirrord, token) as agent:
        await agent.call("read_page", path="Unshown.md", version=1)
        refusal = await agent.refused("write_page", path="Unshown.md", content="# Blind\n")
    assert refusal["code"] == "READ_FIRST"


async def test_an_earlier_version_comes_back_over_a_text_that_was_not_shown(mirrord: Mirrord, token: str) -> None:
    long_text = "# Long\n\n" + f"{'long line ' * 10}\n\n" * 11_000  # more than a question's file holds
    save(mirrord.file("Unseen.md"), long_text)
    eventually(partial(mirrord.page, "Unseen.md"), "the row of Unseen")
    async with agent_of(mirrord, token) as agent:
        await agent.call("edit_page", path="Unseen.md", edits=[{"find": "# Long", "replace": "# Longer"}])
    async with agent_of(mirrord, token) as agent:
        restored = await agent.call("restore_page", path="Unseen.md", version=1)
    assert restored["path"] == "Unseen.md"
    assert mirrord.text("Unseen.md") == long_text


async def test_a_scope_shows_the_history_of_what_is_in_it(mirrord: Mirrord) -> None:
    paths = ("Open/Stays.md", "Open/Goes.md", "Shut/Comes.md", "Shut/Hidden.md", "Shut/Folder/Below.md")
    for path in paths:
        save(mirrord.file(path), f"{TEXT}\n{path} at first.\n")
    for path in paths:
        eventually(partial(mirrord.page, path), f"the row of {path}")
    start = now(mirrord)
    save(mirrord.file("Open/Stays.md"), TEXT + "\nMore.\n")
    save(mirrord.file("Shut/Hidden.md"), TEXT + "\nMore.\n")
    save(mirrord.file("Shut/Folder/Below.md"), f"{TEXT}\nOf the hidden time, edited.\n")
    mirrord.flush()
    for source, target in (("Shut/Comes.md", "Open/Comes.md"), ("Open/Goes.md", "Shut/Goes.md")):
        mirrord.file(source).rename(mirrord.file(target))
    mirrord.file("Shut/Folder").rename(mirrord.file("Open/Folder"))
    for path in ("Open/Comes.md", "Shut/Goes.md", "Open/Folder/Below.md"):
        eventually(partial(mirrord.page, path), f"the row of {path}")
    mirrord.flush()
    token = mirrord.create_token("scoped", "--write", "Open/**")
    async with agent_of(mirrord, token) as agent:
        listed = by_path(await agent.call("list_changes", since=start))
        coming = await agent.call("page_history", path="Open/Comes.md")
        below = await agent.call("page_history", path="Open/Folder/Below.md")
        stays = await agent.call("page_history", path="Open/Stays.md")
        text = await agent.call("read_page", path="Open/Stays.md", version=1)
        same = await agent.call("diff_page", path="Open/Comes.md")
        refusals = [
            await agent.refused("read_page", path="Open/Comes.md", version=1),
            await agent.refused("read_page", path="Open/Folder/Below.md", version=1),
            await agent.refused("list_changes", since="01"),
        ]
        foreign = value(mirrord.app, "SELECT id::text FROM change_set WHERE actor ->> 'name' <> 'scoped' LIMIT 1")
        unknown = "0190f3c2-7a1b-7c3d-8e4f-0123456789ab"
        foreign_refusals = [await agent.refused("list_changes", since=change_set) for change_set in (foreign, unknown)]
        for hidden, missing in (("Shut/Hidden.md", "Shut/None.md"), ("Shut", "None"), ("Hidden", "Nowhere")):
            for tool in ("page_history", "diff_page", "list_changes"):
                answers = [await agent.refused(tool, path=path) for path in (hidden, missing)]
                assert str(answers[0]).replace(hidden, missing) == str(answers[1])
        assert (await agent.refused("undo_changes"))["code"] == "NOTHING_TO_UNDO"
        page_id = (await agent.call("create_page", title="Own", parentPath="Open", content=TEXT))["pageId"]
        query = "SELECT change_set::text FROM page_revision WHERE page_id = %s AND change_set IS NOT NULL"
        own_set = eventually(lambda: value(mirrord.app, query, page_id), "the change set of the scope")
        assert (await agent.call("list_changes", since=own_set))["changes"] == []

    assert {path: change["kind"] for path, change in listed.items() if "type" not in change} == {
        "Open/Stays.md": "edited",
        "Open/Comes.md": "created",
        "Open/Goes.md": "deleted",
        "Open/Folder/Below.md": "edited",
    }
    assert "from" not in listed["Open/Comes.md"]
    assert [len(history["versions"]) for history in (coming, below, stays)] == [1, 1, 2]
    assert text["content"].endswith("Open/Stays.md at first.\n")
    assert same["diff"] == ""
    assert [refusal["code"] for refusal in refusals] == ["UNKNOWN_VERSION", "UNKNOWN_VERSION", "INVALID_TIME"]
    assert foreign_refusals[0]["code"] == "UNKNOWN_CHANGE_SET"
    assert str(foreign_refusals[0]).replace(foreign, unknown) == str(foreign_refusals[1])
