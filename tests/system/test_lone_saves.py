"""A save of one known page, told of by the watcher alone: whatever else is the matter with the page is not lost."""

import time

import psycopg
import pytest

from mirrord.db.database import app_dsn
from mirrord.sync.lone_edits import look_at_known_page
from tests.support.entries import change, value
from tests.support.mirrors import PATIENCE, Mirror

LINES = "one\n\ntwo\n\nthree\n"


async def save_alone(mirror: Mirror, path: str, text: str) -> None:
    """Save *path*, and work until that is carried over, without a look at the rest of the tree."""
    mirror.write({path: text})
    await look_at(mirror, path)


async def look_at(mirror: Mirror, path: str) -> None:
    mirror.engine.queue.mark([path])
    end = time.monotonic() + PATIENCE
    while not mirror.engine.is_idle:
        assert time.monotonic() < end, f"still at work: {mirror.problems()}"
        await mirror.work()


async def test_a_page_keeps_the_problem_of_its_name(mirror: Mirror) -> None:
    mirror.write({"What?.md": LINES})
    await mirror.settle()
    listed = mirror.problems()
    assert [code for _, code in listed] == ["name"]
    await save_alone(mirror, "What?.md", "new\n")
    assert mirror.rows() == {"What?": "new\n"}
    assert mirror.problems() == listed


async def test_front_matter_is_a_problem_as_long_as_it_cannot_be_read(mirror: Mirror) -> None:
    mirror.write({"Page.md": LINES})
    await mirror.settle()
    await save_alone(mirror, "Page.md", "---\ntitle: [\n---\n")
    assert [code for _, code in mirror.problems()] == ["front-matter"]
    await save_alone(mirror, "Page.md", "---\ntitle: Mended\n---\n")
    assert mirror.problems() == {}
    assert value(mirror.app, "SELECT title FROM mirrord.page") == "Mended"


async def test_a_file_that_is_no_text_any_more_is_a_problem_and_its_row_stays(mirror: Mirror) -> None:
    mirror.write({"Page.md": LINES})
    await mirror.settle()
    (mirror.root / "Page.md").write_bytes(b"\xff\xfe")
    await look_at(mirror, "Page.md")
    assert [code for _, code in mirror.problems()] == ["damaged"]
    assert mirror.rows() == {"Page": LINES}
    await save_alone(mirror, "Page.md", "new\n")
    assert mirror.problems() == {}
    assert mirror.rows() == {"Page": "new\n"}


async def test_a_row_that_an_app_changed_meanwhile_is_merged(mirror: Mirror) -> None:
    mirror.write({"Page.md": LINES})
    await mirror.settle()
    change(mirror.app, mirror.page("Page.md").id, markdown=LINES.replace("three", "of the app"))
    await save_alone(mirror, "Page.md", LINES.replace("one", "of the editor"))
    await mirror.settle()
    merged = "of the editor\n\ntwo\n\nof the app\n"
    assert mirror.rows() == {"Page": merged}
    assert mirror.files() == {"Page.md": merged}


async def test_a_row_that_an_app_holds_gets_the_text_later(mirror: Mirror, admin_dsn: str) -> None:
    mirror.write({"Page.md": LINES})
    await mirror.settle()
    with psycopg.connect(app_dsn(admin_dsn, mirror.opened.sides.tenant)) as holder:
        holder.execute("SELECT 1 FROM mirrord.page WHERE name = 'Page' FOR UPDATE")
        mirror.write({"Page.md": "new\n"})
        mirror.engine.queue.mark(["Page.md"])
        await mirror.work()
        assert mirror.rows() == {"Page": LINES}
        assert not mirror.engine.is_idle
        holder.rollback()
    await look_at(mirror, "Page.md")
    assert mirror.rows() == {"Page": "new\n"}


async def test_what_mirrord_wrote_itself_makes_no_version(mirror: Mirror) -> None:
    mirror.write({"Page.md": LINES})
    await mirror.settle()
    change(mirror.app, mirror.page("Page.md").id, markdown="of the app\n")
    await mirror.settle()
    versions = mirror.versions()
    await look_at(mirror, "Page.md")
    assert mirror.versions() == versions
    assert mirror.files() == {"Page.md": "of the app\n"}


@pytest.mark.parametrize("other", ["Other.md", "Page/Below.md"])
async def test_the_file_of_another_page_is_looked_for_where_it_was(mirror: Mirror, other: str) -> None:
    mirror.write({"Page.md": LINES, other: "another text\n", "Third.md": "a third text\n"})
    await mirror.settle()
    page, _ = mirror.ids("Page.md", other)
    mirror.rename((other, "Page.md"))
    await look_at(mirror, "Page.md")
    await mirror.settle()
    assert mirror.ids("Page.md") == [page]
    assert mirror.files() == {"Page.md": "another text\n", "Third.md": "a third text\n"}
    assert {path: text for path, text in mirror.rows().items() if text is not None} == {
        "Page": "another text\n",
        "Third": "a third text\n",
    }


async def test_of_many_pages_saved_at_once_only_those_that_mirrord_moved_are_followed(mirror: Mirror) -> None:
    paths = [f"Page {number}.md" for number in range(5)]
    mirror.write(dict.fromkeys(paths, LINES))
    await mirror.settle()
    moved = mirror.page(paths[0]).id
    change(mirror.app, moved, markdown="of the app\n")
    await mirror.settle()
    restraint = mirror.engine.parts.restraint
    assert set(restraint.followed) == {moved}
    mirror.write(dict.fromkeys(paths, "new\n"))
    await mirror.settle()
    assert set(mirror.rows().values()) == {"new\n"}
    assert set(restraint.followed) == {moved}


async def test_a_file_with_the_inode_number_of_a_replaced_one_is_a_lone_save(mirror: Mirror) -> None:
    mirror.write({"One.md": LINES, "Two.md": LINES.replace("one", "second")})
    await mirror.settle()
    page, freed_number = mirror.page("Two.md").id, (mirror.root / "One.md").stat().st_ino
    saved, again = mirror.root / ".saved", mirror.root / ".again"
    saved.write_text("saved\n")
    saved.replace(mirror.root / "One.md")
    again.write_text("saved again\n")
    if again.stat().st_ino != freed_number:
        pytest.skip("This file system does not give the number of an inode a second time at once.")
    await look_at(mirror, "One.md")
    again.replace(mirror.root / "Two.md")

    assert await look_at_known_page(mirror.opened.sides, "Two.md") is not None
    await look_at(mirror, "Two.md")
    assert mirror.rows() == {"One": "saved\n", "Two": "saved again\n"}
    assert mirror.page("Two.md").id == page


async def test_a_file_that_took_the_place_of_another_one_is_no_lone_save(mirror: Mirror) -> None:
    mirror.write({"One.md": LINES, "Two.md": LINES.replace("one", "second")})
    await mirror.settle()
    (mirror.root / "One.md").replace(mirror.root / "Two.md")
    assert await look_at_known_page(mirror.opened.sides, "Two.md") is None
