"""What agents write is never lost, whoever writes over it, and keeps its row wherever it moves."""

from collections.abc import Iterator

import pytest

from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page, read_page, write_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.commands.pages.sync_status import sync_status
from tests.support.agents import agent
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

OLD = "# Plan\n\nBuy bread and milk.\n\nCall the plumber.\n\nWater the plants.\n"


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module; each has pages of its own."""
    with Near(tmp_path_factory.mktemp("commands"), tenant="commands", dsn=admin_dsn) as started:
        started.up()
        yield started


def written(mirrord: Mirrord, path: str, text: str = OLD) -> None:
    """A page somebody saved, on both sides."""
    save(mirrord.file(path), text)
    eventually(lambda: mirrord.page(path), f"the row of {path}")
    mirrord.flush()


def history(mirrord: Mirrord, path: str) -> list[str]:
    """The texts of all versions of a page, oldest first."""
    page = mirrord.page(path)
    assert page is not None
    query = "SELECT markdown FROM mirrord.page_revision WHERE page_id = %s ORDER BY version"
    return [row[0] for row in mirrord.app.execute(query, [page.id]).fetchall()]


def copies(mirrord: Mirrord) -> list[str]:
    return [path.name for path in mirrord.root.glob(".mirrord/tmp/*/a.*")]


def test_a_text_that_was_overwritten_at_once_becomes_a_version(mirrord: Mirrord) -> None:
    written(mirrord, "Up.md")
    with agent(mirrord) as session:
        read_page(session, "Up")
        with mirrord.frozen():
            write_page(session, "Up", "# Plan\n\nWholly new.\n")
            save(mirrord.file("Up.md"), "# Plan\n\nBy a person.\n")
        eventually(lambda: len(history(mirrord, "Up.md")) == 4, "the version the agent wrote")
    assert history(mirrord, "Up.md") == [
        OLD,
        "# Plan\n\nBy a person.\n",
        "# Plan\n\nWholly new.\n",
        "# Plan\n\nBy a person.\n",
    ]
    mirrord.flush()
    assert mirrord.text("Up.md") == "# Plan\n\nBy a person.\n"
    eventually(lambda: not copies(mirrord), "the end of the copy")


def test_an_editor_that_did_not_know_of_the_agents_change_does_not_undo_it(mirrord: Mirrord) -> None:
    written(mirrord, "Both.md")
    with agent(mirrord) as session, mirrord.frozen():
        edit_page(session, "Both", [{"find": "plumber.", "replace": "plumber at nine."}])
        save(mirrord.file("Both.md"), OLD.replace("bread", "rye bread"))
    both = OLD.replace("plumber.", "plumber at nine.").replace("bread", "rye bread")
    eventually(lambda: mirrord.text("Both.md") == both, "both changes in the file")
    assert OLD.replace("plumber.", "plumber at nine.") in history(mirrord, "Both.md")
    mirrord.flush()
    assert mirrord.check() == {}


def test_what_was_written_and_overwritten_while_no_daemon_ran_becomes_a_version(mirrord: Mirrord) -> None:
    written(mirrord, "Down.md")
    mirrord.stop()
    with agent(mirrord) as session:
        read_page(session, "Down")
        write_page(session, "Down", "first\n")
        write_page(session, "Down", "second\n")
        new = create_page(session, "Made while down")
    save(mirrord.file("Down.md"), "a person's\n")
    save(mirrord.file(new.path), mirrord.file(new.path).read_text() + "And more.\n")
    mirrord.up()
    eventually(lambda: "second\n" in history(mirrord, "Down.md"), "the version the agent wrote")
    eventually(lambda: len(history(mirrord, new.path)) == 3, "the page as the agent made it")
    eventually(lambda: not copies(mirrord), "the end of the copies")
    mirrord.flush()
    assert history(mirrord, "Down.md")[-1] == mirrord.text("Down.md") == "a person's\n"
    assert mirrord.check() == {}
    page = mirrord.page(new.path)
    assert page is not None
    assert str(page.id) == new.page_id
    trashed = {path.read_text() for path in mirrord.root.glob(".mirrord/trash/w.*")}
    assert "first\n" in trashed


def test_a_text_that_stays_is_one_version_and_its_copy_goes(mirrord: Mirrord) -> None:
    written(mirrord, "Stays.md")
    with agent(mirrord) as session:
        read_page(session, "Stays")
        write_page(session, "Stays", "new\n")
        standing = sync_status(session, "Stays", wait_seconds=30)
        assert (standing.synced, standing.daemon) == (True, True)
        eventually(lambda: not copies(mirrord), "the end of the copy")
    mirrord.flush()
    assert history(mirrord, "Stays.md") == [OLD, "new\n"]


@pytest.mark.parametrize("running", [True, False])
def test_a_page_without_an_id_keeps_its_row_when_it_moves_and_its_links_change(mirrord: Mirrord, running: bool) -> None:
    folder = f"Moving {running}"
    written(mirrord, f"{folder}/Target.md", "target\n")
    written(mirrord, f"{folder}/Page.md", "[t](Target.md)\n")
    written(mirrord, f"{folder}/Other.md", "[[Page]] [p](Page.md)\n")
    before = {name: mirrord.page(f"{folder}/{name}.md") for name in ("Page", "Other", "Target")}
    if not running:
        mirrord.stop()
    with agent(mirrord) as session:
        moved = move_page(session, f"{folder}/Page", f"{folder}/Target/Leaf")
    if not running:
        mirrord.up()
    assert moved.new_path == f"{folder}/Target/Leaf.md"
    eventually(lambda: mirrord.page(moved.new_path), "the row at the new place")
    mirrord.flush()
    after = [mirrord.page(path) for path in (moved.new_path, f"{folder}/Other.md", f"{folder}/Target/_index.md")]
    assert [page and page.id for page in after] == [page and page.id for page in before.values()]
    assert mirrord.text(moved.new_path) == "[t](_index.md)\n"
    assert mirrord.text(f"{folder}/Other.md") == "[[Leaf]] [p](Target/Leaf.md)\n"
    assert mirrord.check() == {}


def test_a_page_without_an_id_comes_back_from_the_trash_as_itself(mirrord: Mirrord) -> None:
    written(mirrord, "Trashed.md", "text\n")
    before = mirrord.page("Trashed.md")
    assert before is not None
    with agent(mirrord) as session:
        deleted = delete_page(session, "Trashed")
        query = "SELECT deleted_at IS NOT NULL FROM mirrord.page WHERE id = %s"
        eventually(lambda: value(mirrord.app, query, before.id), "the tombstone")
        restore_page(session, deleted.trash_id, "Back/Again")
        eventually(lambda: mirrord.page("Back/Again.md"), "the row at the new place")
        mirrord.flush()
    after = mirrord.page("Back/Again.md")
    assert after is not None
    assert after.id == before.id


def test_the_standing_of_sync_is_told_while_no_daemon_runs(mirrord: Mirrord) -> None:
    written(mirrord, "Standing.md")
    with agent(mirrord) as session:
        assert sync_status(session, "Standing").synced
        mirrord.stop()
        save(mirrord.file("Standing.md"), "changed\n")
        standing = sync_status(session, "Standing", wait_seconds=30)
        assert (standing.daemon, standing.pending, standing.synced) == (False, None, False)
        assert "No daemon is running" in standing.sentences[0]
        mirrord.up()
        assert sync_status(session, "Standing", wait_seconds=30).synced
