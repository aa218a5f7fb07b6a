"""An editor that shows an older text saves it with edits of its own: the row's change stays, and so do the edits."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrord.sync.decisions.stale_buffers import BUFFER_SECONDS
from tests.support.commands import Near
from tests.support.editors import save, save_in_place
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

OLD = "# Plan\n\nBuy bread and milk.\n\nCall the plumber.\n\nWater the plants.\n"
CODE = "```\nx = 1\ny = 2\n```\n"
CALL, WATER = ("plumber.", "plumber at nine."), ("the plants", "the tomatoes")
MINE = "bread", "rye bread"


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module; each has pages of its own."""
    with Near(tmp_path_factory.mktemp("stale"), tenant="stale-buffers", dsn=admin_dsn) as started:
        started.up()
        yield started


def write_page(mirrord: Mirrord, path: str) -> None:
    save(mirrord.file(path), OLD)
    eventually(lambda: mirrord.page(path), f"the row of {path}")


def app_writes(mirrord: Mirrord, path: str, was: str, now: str) -> str:
    """An app changes the row, and the file follows; its text then."""
    page = mirrord.page(path)
    assert page is not None
    assert page.markdown is not None
    text = page.markdown.replace(was, now)
    mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE id = %s", [text, page.id])
    eventually(lambda: mirrord.text(path) == text, f"the app's text in {path}")
    mirrord.flush()
    return text


def wait_for(mirrord: Mirrord, path: str, text: str) -> None:
    """Both sides have *text* and stay so."""
    eventually(lambda: mirrord.text(path) == text, f"{text!r} in {path}")
    mirrord.flush()
    page = mirrord.page(path)
    assert page is not None
    assert (page.markdown, mirrord.text(path)) == (text, text)


def settled(mirrord: Mirrord, path: str) -> list[tuple[object, ...]]:
    query = (
        "SELECT base_text, file_text, row_text, row_version, resolution FROM mirrord.conflict "
        "WHERE path = %s AND resolved_at IS NOT NULL AND sibling_id IS NULL ORDER BY id"
    )
    return mirrord.app.execute(query, [path]).fetchall()


def open_conflicts(mirrord: Mirrord, path: str) -> int:
    query = "SELECT count(*) FROM mirrord.conflict WHERE path = %s AND resolved_at IS NULL"
    row = mirrord.app.execute(query, [path]).fetchone()
    assert row is not None
    return int(row[0])


def test_the_app_s_change_and_the_editor_s_are_both_kept_and_noted(mirrord: Mirrord) -> None:
    write_page(mirrord, "Both.md")
    new = app_writes(mirrord, "Both.md", *CALL)
    saved = OLD.replace(*MINE)
    save(mirrord.file("Both.md"), saved)
    wait_for(mirrord, "Both.md", new.replace(*MINE))
    assert settled(mirrord, "Both.md") == [(OLD, saved, new, 2, "stale-buffer")]
    query = (
        "SELECT r.version, r.markdown, r.parents FROM mirrord.page_revision r JOIN mirrord.page p ON p.id = r.page_id "
        "WHERE p.name = 'Both' AND r.version > 2 ORDER BY 1"
    )
    assert mirrord.app.execute(query).fetchall() == [(3, saved, [1]), (4, new.replace(*MINE), [2, 3])]


def test_the_editor_may_go_on_saving_its_text_in_place(mirrord: Mirrord) -> None:
    write_page(mirrord, "Going on.md")
    app_writes(mirrord, "Going on.md", *CALL)
    text = OLD
    for number in range(3):
        text += f"\nLine {number} of the editor.\n"
        save_in_place(mirrord.file("Going on.md"), text)
        wait_for(mirrord, "Going on.md", text.replace(*CALL))
    assert len(settled(mirrord, "Going on.md")) == 3
    assert open_conflicts(mirrord, "Going on.md") == 0


def test_a_text_older_by_several_changes_of_the_row_is_found_too(mirrord: Mirrord) -> None:
    write_page(mirrord, "Older.md")
    app_writes(mirrord, "Older.md", *CALL)
    newest = app_writes(mirrord, "Older.md", *WATER)
    save(mirrord.file("Older.md"), OLD.replace(*MINE))
    wait_for(mirrord, "Older.md", newest.replace(*MINE))


def test_saving_the_older_text_itself_undoes_the_change(mirrord: Mirrord) -> None:
    write_page(mirrord, "Undo.md")
    app_writes(mirrord, "Undo.md", *CALL)
    save(mirrord.file("Undo.md"), OLD)
    wait_for(mirrord, "Undo.md", OLD)
    assert settled(mirrord, "Undo.md") == []


def test_an_editor_that_loaded_the_change_edits_as_ever(mirrord: Mirrord) -> None:
    write_page(mirrord, "Fresh.md")
    new = app_writes(mirrord, "Fresh.md", *CALL)
    save(mirrord.file("Fresh.md"), new.replace("at nine", "at ten").replace(*MINE))
    wait_for(mirrord, "Fresh.md", new.replace("at nine", "at ten").replace(*MINE))
    assert settled(mirrord, "Fresh.md") == []


def test_what_a_person_took_back_of_an_own_save_is_an_ordinary_edit(mirrord: Mirrord) -> None:
    write_page(mirrord, "Own.md")
    save(mirrord.file("Own.md"), OLD.replace(*CALL))
    wait_for(mirrord, "Own.md", OLD.replace(*CALL))
    save(mirrord.file("Own.md"), OLD.replace(*MINE))
    wait_for(mirrord, "Own.md", OLD.replace(*MINE))
    assert settled(mirrord, "Own.md") == []


def test_a_row_that_changed_once_more_meanwhile_is_merged_with_what_the_editor_had(mirrord: Mirrord) -> None:
    write_page(mirrord, "Once more.md")
    new = app_writes(mirrord, "Once more.md", *CALL)
    newest = new.replace(*WATER)
    with mirrord.frozen():
        save(mirrord.file("Once more.md"), OLD.replace(*MINE))
        mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = 'Once more'", [newest])
    wait_for(mirrord, "Once more.md", newest.replace(*MINE))


def test_a_line_below_the_one_the_editor_changed_stays(mirrord: Mirrord) -> None:
    write_page(mirrord, "Neighbours.md")
    app_writes(mirrord, "Neighbours.md", "plants.\n", "plants.\nFeed the cat.\n")
    save(mirrord.file("Neighbours.md"), OLD.replace("Water the", "Water all the"))
    wait_for(mirrord, "Neighbours.md", OLD.replace("Water the plants.\n", "Water all the plants.\nFeed the cat.\n"))


def test_where_no_merge_is_sure_the_editor_s_text_is_kept_beside_the_page(mirrord: Mirrord) -> None:
    save(mirrord.file("Clash.md"), CODE)
    eventually(lambda: mirrord.page("Clash.md"), "the row")
    new = app_writes(mirrord, "Clash.md", "x = 1", "x = 7")
    save(mirrord.file("Clash.md"), CODE.replace("y = 2", "y = 3"))
    eventually(lambda: open_conflicts(mirrord, "Clash.md") == 1, "a conflict")
    wait_for(mirrord, "Clash.md", new)
    beside = "SELECT count(*) FROM mirrord.page WHERE name LIKE 'Clash (conflict%%' AND markdown LIKE '%%y = 3%%'"
    assert value(mirrord.app, beside) == 1


def test_every_text_taken_in_from_a_file_has_an_operation_of_its_own(mirrord: Mirrord) -> None:
    write_page(mirrord, "Operation.md")
    app_writes(mirrord, "Operation.md", *CALL)
    save(mirrord.file("Operation.md"), OLD.replace(*CALL) + "More.\n")
    wait_for(mirrord, "Operation.md", OLD.replace(*CALL) + "More.\n")
    query = (
        "SELECT r.version, r.op_id IS NOT NULL FROM mirrord.page_revision r JOIN mirrord.page p ON p.id = r.page_id "
        "WHERE p.name = 'Operation' ORDER BY 1"
    )
    assert mirrord.app.execute(query).fetchall() == [(1, False), (2, False), (3, True)]


ITEMS, APPENDED = "a list of things\n\nlast tail\n", "\nrow text here\n"
OLD_BUFFER = "a list of things\n\nlast\n\nmine added\n"


def versions(mirrord: Mirrord) -> int:
    return int(str(value(mirrord.app, "SELECT sum(version) FROM mirrord.page")))


def file_grows_old(mirrord: Mirrord, path: str) -> None:
    """Return when the row's text has been in the file for longer than any editor is assumed not to have read it."""
    eventually(lambda: not is_fresh(mirrord.file(path)), f"{path} to be older than {BUFFER_SECONDS} s", 60.0)


def is_fresh(path: Path) -> bool:
    return time.time() - path.stat().st_ctime <= BUFFER_SECONDS + 0.5


def test_a_conflict_s_own_text_saved_once_more_is_nothing_new(mirrord: Mirrord) -> None:
    path = mirrord.file("Twice.md")
    save(path, ITEMS)
    eventually(lambda: mirrord.page("Twice.md"), "the row")
    new = app_writes(mirrord, "Twice.md", ITEMS, ITEMS + APPENDED)
    save(path, OLD_BUFFER)
    eventually(lambda: open_conflicts(mirrord, "Twice.md") == 1, "a conflict")
    wait_for(mirrord, "Twice.md", new)
    before = versions(mirrord)
    save(path, OLD_BUFFER)
    wait_for(mirrord, "Twice.md", new)
    assert open_conflicts(mirrord, "Twice.md") == 1
    assert versions(mirrord) == before


def test_after_the_second_save_deletions_of_other_pages_are_carried_over(mirrord: Mirrord) -> None:
    write_page(mirrord, "Other.md")
    path = mirrord.file("Twice too.md")
    save(path, ITEMS)
    eventually(lambda: mirrord.page("Twice too.md"), "the row")
    app_writes(mirrord, "Twice too.md", ITEMS, ITEMS + APPENDED)
    for _ in range(2):
        save(path, OLD_BUFFER)
        eventually(lambda: mirrord.text("Twice too.md") != OLD_BUFFER, "the row's text in the file")
    mirrord.file("Other.md").unlink()
    eventually(lambda: mirrord.page("Other.md") is None, "the deletion of Other.md")


def test_a_merged_buffer_saved_once_more_is_nothing_new(mirrord: Mirrord) -> None:
    write_page(mirrord, "Merged twice.md")
    new = app_writes(mirrord, "Merged twice.md", *CALL)
    save(mirrord.file("Merged twice.md"), OLD.replace(*MINE))
    wait_for(mirrord, "Merged twice.md", new.replace(*MINE))
    before = versions(mirrord)
    save(mirrord.file("Merged twice.md"), OLD.replace(*MINE))
    wait_for(mirrord, "Merged twice.md", new.replace(*MINE))
    assert versions(mirrord) == before


def test_what_a_person_removed_after_it_was_in_the_file_for_long_stays_removed(mirrord: Mirrord) -> None:
    write_page(mirrord, "Removed.md")
    app_writes(mirrord, "Removed.md", OLD, OLD + APPENDED)
    file_grows_old(mirrord, "Removed.md")
    save(mirrord.file("Removed.md"), OLD.replace(*MINE))
    wait_for(mirrord, "Removed.md", OLD.replace(*MINE))
    assert settled(mirrord, "Removed.md") == []


def test_a_whole_rewrite_of_what_was_in_the_file_for_long_is_an_edit(mirrord: Mirrord) -> None:
    paths = [f"Rewritten {number}.md" for number in range(5)]
    for path in paths:
        write_page(mirrord, path)
    for path in paths:
        app_writes(mirrord, path, OLD, OLD + APPENDED)
    file_grows_old(mirrord, paths[-1])
    for path in paths:
        save(mirrord.file(path), f"Nothing of {path} is as it was.\n")
    for path in paths:
        wait_for(mirrord, path, f"Nothing of {path} is as it was.\n")
        assert open_conflicts(mirrord, path) == 0


def test_an_old_buffer_is_not_assumed_of_a_daemon_that_has_just_begun(mirrord: Mirrord) -> None:
    write_page(mirrord, "Restarted.md")
    app_writes(mirrord, "Restarted.md", *CALL)
    mirrord.stop()
    save(mirrord.file("Restarted.md"), OLD.replace(*MINE))
    mirrord.up()
    wait_for(mirrord, "Restarted.md", OLD.replace(*MINE))
    assert settled(mirrord, "Restarted.md") == []
