"""Versions of a page: what they tell, how they differ, and the way back to one. No daemon runs."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mirrord.domain.entry import TenantId, digest_of
from tests.support.commands import Command, commands
from tests.support.entries import add, add_folder, add_page, change, delete, history, lives, place, render, row_of
from tests.support.rows import Connection


@pytest.fixture
def mirrord(admin_dsn: str, tenant: TenantId, tmp_path: Path) -> Command:
    """Runs commands of the tenant."""
    return commands(admin_dsn, tenant, tmp_path)


def page(daemon: Connection, text: str, **columns: object) -> UUID:
    """A page as mirrord itself takes it in from a file."""
    body = {"markdown": text, "digest": digest_of(text.encode()), "title": "Page", "name": "Page"}
    return add(daemon, "page", **(body | {"name_key": str(columns.get("name", "Page")).lower()} | columns))


def put(daemon: Connection, entry: UUID, text: str, **columns: object) -> None:
    change(daemon, entry, markdown=text, digest=digest_of(text.encode()), **columns)


def versions(mirrord: Command, reference: str) -> list[dict[str, Any]]:
    result = mirrord("history", reference, "--json")
    assert result.code == 0, result.err
    listed: list[dict[str, Any]] = json.loads(result.out)["versions"]
    return listed


def test_a_version_says_what_it_changed_and_who_did_it(mirrord: Command, daemon_connection: Connection) -> None:
    entry = page(daemon_connection, "one\n")
    folder = add_folder(daemon_connection, name="Folder", name_key="folder")
    with daemon_connection.transaction():
        daemon_connection.execute("""SET LOCAL mirrord.actor = '{"kind": "app", "name": "editor"}'""")
        put(daemon_connection, entry, "two\n")
    change(daemon_connection, entry, parent_id=folder, name="Other", title="Other")
    delete(daemon_connection, entry)
    change(daemon_connection, entry, deleted_at=None)

    page_versions = versions(mirrord, str(entry))
    assert [version["version"] for version in page_versions] == [5, 4, 3, 2, 1]
    assert [version["changed"] for version in page_versions] == [
        ["restored"],
        ["deleted"],
        ["place", "title"],
        ["text"],
        ["created"],
    ]
    assert page_versions[3]["actor"] == {"kind": "app", "name": "editor"}
    assert [version["place"] for version in page_versions] == ["Folder/Other"] * 3 + ["Page"] * 2
    assert page_versions[0]["size"] == 4
    line = mirrord("history", str(entry)).out.splitlines()[3]
    assert "app editor" in line
    assert "text" in line


def test_a_page_is_found_by_its_path_its_title_and_its_id(mirrord: Command, daemon_connection: Connection) -> None:
    folder = add_folder(daemon_connection, name="Projects", name_key="projects")
    entry = page(daemon_connection, "text\n", parent_id=folder, name="Alpha", title="The first letter")
    page(daemon_connection, "text\n", name="Alpha", title="Another")
    for reference in (str(entry), "Projects/Alpha.md", "Projects/Alpha", "The first letter"):
        assert json.loads(mirrord("history", reference, "--json").out)["page"] == str(entry)
    assert json.loads(mirrord("history", "Projects", "--json").out)["page"] == str(folder)


def test_a_title_that_several_pages_have_is_no_answer(mirrord: Command, daemon_connection: Connection) -> None:
    page(daemon_connection, "text\n", name="A", title="Same")
    page(daemon_connection, "text\n", name="B", title="Same")
    result = mirrord("history", "Same")
    assert result.code == 2
    assert "A.md" in result.err
    assert "B.md" in result.err


def test_a_deleted_page_and_a_renamed_one_are_found_by_the_path_they_had(
    mirrord: Command, daemon_connection: Connection
) -> None:
    entry = page(daemon_connection, "text\n", name="Gone", title="Gone")
    delete(daemon_connection, entry)
    assert versions(mirrord, "Gone.md")[0]["deleted"]
    other = page(daemon_connection, "text\n", name="Before", title="Before")
    change(daemon_connection, other, name="After", title="After")
    assert len(versions(mirrord, "Before")) == 2
    assert mirrord("history", "Nowhere").code == 2


def test_a_page_that_lives_is_meant_before_one_that_was_deleted(
    mirrord: Command, daemon_connection: Connection
) -> None:
    folder = add_folder(daemon_connection, name="Folder", name_key="folder")
    dead = page(daemon_connection, "dead\n", name="Alpha", title="Alpha")
    delete(daemon_connection, dead)
    alive = page(daemon_connection, "alive\n", name="Alpha", title="Alpha", parent_id=folder)
    assert json.loads(mirrord("history", "Alpha", "--json").out)["page"] == str(alive)
    assert json.loads(mirrord("history", str(dead), "--json").out)["path"] == "Alpha.md"


def test_a_difference_shows_text_place_and_title(mirrord: Command, daemon_connection: Connection) -> None:
    entry = page(daemon_connection, "one\ntwo\nthree", name="Page")
    put(daemon_connection, entry, "one\n2\nthree\n", name="New", title="New")
    result = mirrord("diff", "New")
    assert result.code == 1
    assert "place: Page → New" in result.out
    assert "title: Page → New" in result.out
    assert " one\n-two\n-three\n\\ No newline at end of file\n+2\n+three\n" in result.out
    facts = json.loads(mirrord("diff", "New", "1", "2", "--json").out)
    assert facts["place"] == ["Page", "New"]
    assert "+2" in facts["diff"]
    assert mirrord("diff", "New", "2", "2").code == 0
    assert mirrord("diff", "New", "7").code == 2


def test_a_text_cannot_speak_to_the_terminal(mirrord: Command, daemon_connection: Connection) -> None:
    entry = page(daemon_connection, "plain\n")
    put(daemon_connection, entry, "\x1b]0;owned\x07\n")
    assert "\x1b" not in mirrord("diff", str(entry)).out


def test_a_restored_version_is_the_next_one_and_tells_where_it_comes_from(
    mirrord: Command, daemon_connection: Connection
) -> None:
    entry = page(daemon_connection, "---\ntitle: First\nicon: x\n---\none\n", title="First", icon="x")
    put(daemon_connection, entry, "two\n", title="Page", icon=None)
    result = mirrord("restore", str(entry), "--version", "1")
    assert result.code == 0, result.err

    row = row_of(daemon_connection, entry)
    assert row["markdown"] == "---\ntitle: First\nicon: x\n---\none\n"
    assert (row["title"], row["icon"], row["version"]) == ("First", "x", 3)
    assert row["digest"] == digest_of(row["markdown"].encode())
    newest = history(daemon_connection, entry)[-1]
    assert newest["parents"] == [2, 1]
    assert newest["actor"]["kind"] == "human"


def test_restoring_is_undone_by_restoring(mirrord: Command, daemon_connection: Connection) -> None:
    entry = page(daemon_connection, "one\n")
    put(daemon_connection, entry, "two\n")
    mirrord("restore", str(entry), "--version", "1")
    mirrord("restore", str(entry), "--version", "2")
    row = row_of(daemon_connection, entry)
    assert (row["markdown"], row["version"]) == ("two\n", 4)
    again = mirrord("restore", str(entry), "--version", "2")
    assert again.code == 0
    assert "already" in again.out
    assert row_of(daemon_connection, entry)["version"] == 4


def test_a_deleted_page_lives_again_with_the_folder_it_is_in(mirrord: Command, daemon_connection: Connection) -> None:
    folder = add_folder(daemon_connection, name="Folder", name_key="folder")
    entry = page(daemon_connection, "one\n", parent_id=folder)
    put(daemon_connection, entry, "two\n")
    delete(daemon_connection, entry)
    delete(daemon_connection, folder)
    result = mirrord("restore", "Folder/Page", "--version", "1")
    assert "lives again" in result.out
    assert row_of(daemon_connection, entry)["markdown"] == "one\n"
    assert lives(daemon_connection, entry)
    assert lives(daemon_connection, folder)


def test_a_page_can_go_back_to_its_place_too(mirrord: Command, daemon_connection: Connection) -> None:
    folder = add_folder(daemon_connection, name="Folder", name_key="folder")
    entry = page(daemon_connection, "one\n", parent_id=folder, name="Old")
    change(daemon_connection, entry, parent_id=None, name="New", title="New")
    put(daemon_connection, entry, "two\n")

    assert mirrord("restore", "New", "--version", "1").code == 0
    row = row_of(daemon_connection, entry)
    assert (row["parent_id"], row["name"], row["name_key"]) == (None, "New", "old")
    assert mirrord("restore", "New", "--version", "1", "--place").code == 0
    row = row_of(daemon_connection, entry)
    assert (row["parent_id"], row["name"], row["name_key"]) == (folder, "Old", None)


def test_a_place_below_the_page_itself_is_refused(mirrord: Command, daemon_connection: Connection) -> None:
    upper = page(daemon_connection, "upper\n", name="Upper")
    entry = page(daemon_connection, "one\n", parent_id=upper, name="Lower")
    change(daemon_connection, entry, parent_id=None)
    change(daemon_connection, upper, parent_id=entry)
    result = mirrord("restore", str(entry), "--version", "1", "--place")
    assert result.code == 4
    assert "below itself" in result.err
    assert row_of(daemon_connection, entry)["version"] == 2


def test_a_version_without_a_text_and_one_that_never_was_are_refused(
    mirrord: Command, daemon_connection: Connection
) -> None:
    folder = add_folder(daemon_connection, name="Folder", name_key="folder")
    put(daemon_connection, folder, "a page now\n", kind="page", index=True)
    assert mirrord("restore", "Folder", "--version", "1").code == 4
    assert mirrord("restore", "Folder", "--version", "9").code == 2


def test_what_an_app_wrote_last_stays_a_version_when_another_is_restored(
    mirrord: Command, app_connection: Connection, daemon_connection: Connection
) -> None:
    entry = add_page(app_connection, markdown="one\n")
    render(daemon_connection, entry, "one\n")
    place(daemon_connection, entry, "Page")
    content = {"type": "doc", "content": [{"type": "paragraph"}]}
    app_connection.execute("UPDATE page SET content = %s::jsonb WHERE id = %s", [json.dumps(content), entry])
    assert mirrord("restore", str(entry), "--version", "1").code == 0
    row = row_of(daemon_connection, entry)
    assert (row["version"], row["markdown"], row["ahead"]) == (3, "one\n", [])
    assert history(daemon_connection, entry)[1]["views"] == {"content": content}
