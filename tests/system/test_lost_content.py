"""A document of an app that leaves nothing of its page is held until it is mended or confirmed; the file stays."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.db.database import app_dsn
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import add_page, change, history, row_of, value
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_listed, assert_over, assert_syncs, look_everywhere, problem

TEXT = (
    f"# Harbour\n\n{'The boats leave at seven, when the tide is high. ' * 6}\n\nSee [[Boats]], [[Tides]], [[Quay]].\n"
)
EMPTIED = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "t"}]}]}


@pytest.fixture(scope="module")
def daemon(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("lost"), tenant="lost-content", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def mirrord(daemon: Mirrord) -> Iterator[Mirrord]:
    """The daemon, which goes on syncing after the test."""
    if not daemon.running:
        daemon.up()
    yield daemon
    assert_syncs(daemon)


def derived_page(mirrord: Mirrord, text: str = TEXT) -> tuple[str, UUID, dict[str, Any]]:
    """A page from a file: its path, its id and its document."""
    path = f"Page {uuid4().hex[:8]}.md"
    save(mirrord.file(path), text)

    def loaded() -> tuple[str, UUID, dict[str, Any]] | None:
        page = mirrord.page(path)
        return (path, page.id, page.content) if page is not None and page.content is not None else None

    return eventually(loaded, f"the document of {path}")


def held_page(mirrord: Mirrord) -> tuple[str, UUID, dict[str, Any]]:
    """A page with a document that an app emptied, and that is held."""
    path, page, content = derived_page(mirrord)
    change(mirrord.app, page, content=Jsonb(EMPTIED))
    assert_held(mirrord, path, page)
    return path, page, content


def assert_held(mirrord: Mirrord, path: str, page: UUID, content: dict[str, Any] = EMPTIED) -> None:
    """The row is as the app wrote it, the file and the Markdown are as before, and a sentence says so."""
    eventually(lambda: codes(mirrord, path) == ["content-lost"], f"{path} to be held")
    row = row_of(mirrord.app, page)
    assert (row["content"], row["markdown"], row["ahead"]) == (content, mirrord.text(path), ["content"])
    assert_listed(mirrord, path, "confirm_content", str(page))


def codes(mirrord: Mirrord, path: str) -> list[str]:
    rows = mirrord.app.execute("SELECT code FROM mirrord.problem WHERE path = %s", [path]).fetchall()
    return [code for (code,) in rows]


def confirm(mirrord: Mirrord, page: UUID) -> int:
    version: int = value(mirrord.app, "SELECT mirrord.confirm_content(%s)", page)
    return version


def test_a_page_that_an_editor_shows_as_empty_is_not_emptied_by_its_save(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    assert_listed(mirrord, path, "nothing of the page's", "`wikilink`", "stay as they are", "Write the document again")
    assert mirrord.text(path) == TEXT
    assert mirrord.check()[path] == "STALE"
    assert history(mirrord.app, page)[-1]["views"] == {"content": EMPTIED}


def test_what_is_held_is_left_in_peace(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    before = value(mirrord.app, "SELECT seq FROM mirrord.entry_feed WHERE entry_id = %s", page)
    for _ in range(3):
        look_everywhere(mirrord)
    assert value(mirrord.app, "SELECT seq FROM mirrord.entry_feed WHERE entry_id = %s", page) == before
    assert_held(mirrord, path, page)


def test_a_document_without_any_of_its_unknown_nodes_is_held(mirrord: Mirrord) -> None:
    path, page, content = derived_page(mirrord)
    stripped = {**content, "content": content["content"][:-1]}
    change(mirrord.app, page, content=Jsonb(stripped))
    assert_held(mirrord, path, page, stripped)
    assert "every `wikilink` is gone from the page" in (problem(mirrord, path) or "")
    assert mirrord.text(path) == TEXT


def test_a_person_deletes_one_link_of_many(mirrord: Mirrord) -> None:
    path, page, content = derived_page(mirrord)
    shorter = json.loads(json.dumps(content))
    shorter["content"][-1]["content"] = shorter["content"][-1]["content"][:3]
    change(mirrord.app, page, content=Jsonb(shorter))
    eventually(lambda: "[[Quay]]" not in (mirrord.text(path) or "[[Quay]]"), "the page without a link")
    assert codes(mirrord, path) == []


def test_the_document_written_again_with_its_nodes_is_in_the_file(mirrord: Mirrord) -> None:
    path, page, content = held_page(mirrord)
    content["content"][0]["content"][0]["text"] = "The harbour"
    change(mirrord.app, page, content=Jsonb(content))
    eventually(lambda: mirrord.text(path) == TEXT.replace("# Harbour", "# The harbour"), "the new heading")
    assert_over(mirrord, path)
    assert row_of(mirrord.app, page)["ahead"] == []


def test_the_document_as_it_was_ends_the_problem_and_changes_no_byte(mirrord: Mirrord) -> None:
    path, page, content = held_page(mirrord)
    change(mirrord.app, page, content=Jsonb(content))
    assert_over(mirrord, path)
    look_everywhere(mirrord)
    assert mirrord.text(path) == TEXT
    assert path not in mirrord.check()


def test_markdown_that_is_written_ends_the_problem(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    change(mirrord.app, page, markdown="all new\n")
    eventually(lambda: mirrord.text(path) == "all new\n", "the text of the row")
    assert_over(mirrord, path)


def test_an_earlier_version_that_is_restored_ends_the_problem(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    version = row_of(mirrord.app, page)["version"]
    restored = mirrord.run("restore", path, "--version", str(version - 1), "--tenant", mirrord.tenant)
    assert restored.returncode == 0, restored.stderr
    assert_over(mirrord, path)
    look_everywhere(mirrord)
    row = row_of(mirrord.app, page)
    assert (row["markdown"], row["ahead"], mirrord.text(path)) == (TEXT, [], TEXT)
    assert path not in mirrord.check()


def test_a_page_that_is_to_be_empty_is_emptied_once_that_is_confirmed(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    assert confirm(mirrord, page) == row_of(mirrord.app, page)["version"]
    eventually(lambda: mirrord.text(path) == "t\n", "the emptied page")
    assert_over(mirrord, path)
    change(mirrord.app, page, markdown=TEXT)
    eventually(lambda: mirrord.text(path) == TEXT, "the text again")


def test_a_confirmation_counts_for_one_version_only(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    with mirrord.frozen():
        confirm(mirrord, page)
        change(mirrord.app, page, content=Jsonb({"type": "doc", "content": []}))
    assert_held(mirrord, path, page, {"type": "doc", "content": []})
    assert mirrord.text(path) == TEXT


def test_an_app_may_confirm_in_the_transaction_of_its_write(mirrord: Mirrord) -> None:
    path, page, _ = derived_page(mirrord)
    with mirrord.app.transaction():
        change(mirrord.app, page, content=Jsonb(EMPTIED))
        confirm(mirrord, page)
    eventually(lambda: mirrord.text(path) == "t\n", "the emptied page")
    assert codes(mirrord, path) == []


def test_what_does_not_wait_cannot_be_confirmed(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    with pytest.raises(psycopg.errors.NoDataFound, match="there is no page"):
        confirm(mirrord, uuid4())
    change(mirrord.app, page, markdown="another text\n")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no content waits to be confirmed"):
        confirm(mirrord, page)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        mirrord.app.execute("UPDATE mirrord.page SET confirmed = version WHERE id = %s", [page])
    assert_over(mirrord, path)


def test_another_tenants_app_confirms_nothing(mirrord: Mirrord, admin_dsn: str) -> None:
    path, page, _ = held_page(mirrord)
    other = uuid4()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("INSERT INTO mirrord.tenant (id, name) VALUES (%s, %s)", [other, f"other-{other}"])
    with (
        psycopg.connect(app_dsn(admin_dsn, other), autocommit=True) as stranger,  # type: ignore[arg-type]
        pytest.raises(psycopg.errors.NoDataFound, match="there is no page"),
    ):
        stranger.execute("SELECT mirrord.confirm_content(%s)", [page])
    assert_held(mirrord, path, page)


def test_a_file_that_is_edited_meanwhile_is_kept_beside_what_is_held(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    edited = TEXT.replace("seven", "eight")
    save(mirrord.file(path), edited)
    assert_kept_apart(mirrord, path, page, edited)
    number = value(mirrord.app, "SELECT id FROM mirrord.conflict WHERE entry_id = %s", page)
    settled = mirrord.run("conflicts", "take-file", str(number), "--tenant", mirrord.tenant)
    assert settled.returncode == 0, settled.stderr
    eventually(lambda: row_of(mirrord.app, page)["markdown"] == edited, "the text of the file in the row")
    assert_over(mirrord, path)


def test_what_is_held_survives_a_restart_and_edits_meanwhile(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    other_path, other_page, _ = held_page(mirrord)
    edited = TEXT.replace("seven", "eight")
    mirrord.stop()
    save(mirrord.file(other_path), edited)
    mirrord.up()
    assert_held(mirrord, path, page)
    assert_kept_apart(mirrord, other_path, other_page, edited)
    confirm(mirrord, page)
    eventually(lambda: mirrord.text(path) == "t\n", "the emptied page")
    assert_over(mirrord, path)


def test_saves_beside_what_is_held_are_versions_of_one_page(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    edits = [TEXT.replace("seven", hour) for hour in ("eight", "nine", "ten", "nine")]
    for edited in edits:
        save(mirrord.file(path), edited)
        sibling = eventually(lambda edited=edited: sibling_with(mirrord, page, edited), "the save beside the page")  # type: ignore[misc]
        look_everywhere(mirrord)
    assert value(mirrord.app, "SELECT count(*) FROM mirrord.conflict WHERE entry_id = %s", page) == 1
    assert value(mirrord.app, "SELECT file_text FROM mirrord.conflict WHERE entry_id = %s", page) == edits[-1]
    texts = [
        version["markdown"].partition("---\n")[2].partition("---\n")[2] for version in history(mirrord.app, sibling)
    ]
    assert texts == edits
    assert_kept_apart(mirrord, path, page, edits[-1])


def test_a_page_beside_that_a_person_wrote_into_stays_and_the_next_save_is_another(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    save(mirrord.file(path), TEXT.replace("seven", "eight"))
    sibling = eventually(lambda: sibling_with(mirrord, page, TEXT.replace("seven", "eight")), "the save")
    change(mirrord.app, sibling, markdown="settled by hand\n")
    save(mirrord.file(path), TEXT.replace("seven", "nine"))
    other = eventually(lambda: sibling_with(mirrord, page, TEXT.replace("seven", "nine")), "the second save")
    assert other != sibling
    assert row_of(mirrord.app, sibling)["markdown"].endswith("settled by hand\n")


def test_a_save_beside_a_later_change_that_is_held_leaves_the_page_of_the_earlier_one(mirrord: Mirrord) -> None:
    path, page, content = held_page(mirrord)
    first, second = TEXT.replace("seven", "eight"), TEXT.replace("Harbour", "Haven")
    save(mirrord.file(path), first)
    sibling = eventually(lambda: sibling_with(mirrord, page, first), "the first save")
    change(mirrord.app, page, content=Jsonb(content))
    eventually(lambda: mirrord.text(path) == TEXT, "the text of the row in the file")
    assert_over(mirrord, path)
    change(mirrord.app, page, content=Jsonb(EMPTIED))
    assert_held(mirrord, path, page)

    save(mirrord.file(path), second)

    other = eventually(lambda: sibling_with(mirrord, page, second), "the second save")
    assert other != sibling
    assert row_of(mirrord.app, sibling)["markdown"].endswith(first)


def test_the_file_of_a_page_that_is_held_comes_back_when_it_is_removed(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    mirrord.file(path).unlink()
    eventually(lambda: mirrord.text(path) == TEXT, "the file again")
    assert_listed(mirrord, path, "confirm_content", "was removed meanwhile and is back")
    row = row_of(mirrord.app, page)
    assert (row["content"], row["markdown"], row["ahead"], row["deleted_at"]) == (EMPTIED, TEXT, ["content"], None)

    confirm(mirrord, page)
    eventually(lambda: mirrord.text(path) == "t\n", "the emptied page")
    assert_over(mirrord, path)
    mirrord.file(path).unlink()
    eventually(lambda: row_of(mirrord.app, page)["deleted_at"] is not None, "the page to be deleted")


def test_a_file_that_is_removed_while_no_daemon_runs_comes_back_beside_what_is_held(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    mirrord.stop()
    mirrord.file(path).unlink()
    mirrord.up()
    eventually(lambda: mirrord.text(path) == TEXT, "the file again")
    assert_held(mirrord, path, page)


def test_a_row_that_is_deleted_while_it_is_held_takes_its_file_along(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    change(mirrord.app, page, deleted_at=datetime.now(UTC))
    eventually(lambda: mirrord.text(path) is None, "the file to go")
    assert_over(mirrord, path)


def test_a_table_that_markdown_lacks_is_simpler_in_row_and_file(mirrord: Mirrord) -> None:
    path, page, content = derived_page(mirrord)
    items = [
        {"type": "listItem", "content": [{"type": "paragraph", "content": [{"type": "text", "text": word}]}]}
        for word in ("one", "two")
    ]
    cell = {"type": "tableHeader", "content": [{"type": "bulletList", "content": items}]}
    content["content"].append({"type": "table", "content": [{"type": "tableRow", "content": [cell]}]})
    change(mirrord.app, page, content=Jsonb(content))
    eventually(lambda: mirrord.text(path) == f"{TEXT}\n| • one<br>• two |\n| --- |\n", "the table in the file")
    written = row_of(mirrord.app, page)["content"]["content"][-1]["content"][0]["content"][0]
    assert [child["type"] for child in written["content"]] == ["paragraph"]
    assert codes(mirrord, path) == []


def test_check_says_why_a_page_that_is_held_differs(mirrord: Mirrord) -> None:
    path, page, _ = held_page(mirrord)
    checked = mirrord.run("check", "--tenant", mirrord.tenant)
    assert checked.returncode == 1
    assert path in checked.stdout
    assert f"confirm_content('{page}')" in checked.stdout


def sibling_with(mirrord: Mirrord, page: UUID, text: str) -> UUID | None:
    """The page beside *page* that has *text*."""
    query = """
        SELECT p.id FROM mirrord.conflict AS c JOIN mirrord.page AS p ON p.id = c.sibling_id
         WHERE c.entry_id = %s AND c.resolved_at IS NULL AND right(p.markdown, length(%s)) = %s"""
    row = mirrord.app.execute(query, [page, text, text]).fetchone()
    return row[0] if row else None


def assert_kept_apart(mirrord: Mirrord, path: str, page: UUID, edited: str) -> None:
    """The edited text of the file is a page of its own, a conflict lists both, and what is held stays so."""
    query = "SELECT sibling_id FROM mirrord.conflict WHERE entry_id = %s AND resolved_at IS NULL"
    sibling = eventually(lambda: value(mirrord.app, query, page), "the conflict")
    assert row_of(mirrord.app, sibling)["markdown"].endswith(edited)
    look_everywhere(mirrord)
    row = row_of(mirrord.app, page)
    assert (row["content"], row["markdown"], row["ahead"]) == (EMPTIED, TEXT, ["content"])
    assert mirrord.text(path) == edited
    assert_listed(mirrord, path, "confirm_content", str(page))


def test_a_page_of_an_app_that_has_no_file_yet_is_not_judged(mirrord: Mirrord) -> None:
    name = f"New {uuid4().hex[:8]}"
    with mirrord.app.transaction():
        page = add_page(mirrord.app, name=name, content=Jsonb(EMPTIED))
        change(mirrord.app, page, content=Jsonb({"type": "doc", "content": []}))
    eventually(lambda: mirrord.text(f"{name}.md") is not None, "the file of a new page")
    assert codes(mirrord, f"{name}.md") == []


def test_an_export_has_the_text_of_the_file(mirrord: Mirrord, tmp_path: Path) -> None:
    path, _, _ = held_page(mirrord)
    exported = mirrord.run("export", str(tmp_path / "out"), "--tenant", mirrord.tenant)
    assert (tmp_path / "out" / path).read_text() == TEXT
    assert "what an app wrote cannot be written as text" in exported.stdout + exported.stderr
