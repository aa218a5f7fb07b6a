"""A file is renamed while another program has it open for writing, and an app changes its row at the same moment."""

from pathlib import Path

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.support.entries import change
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

ROUNDS = 60  # of work while the file is held
TEXT = "# The plan\n\nWe sow in spring.\n"


@pytest.mark.parametrize("column", ["name", "markdown", "title"])
@pytest.mark.parametrize("writes", [True, False], ids=["written", "untouched"])
@pytest.mark.parametrize("old", ["p0", "a0"], ids=["new_path_first", "old_path_first"])
async def test_it_stays_one_page(mirror: Mirror, column: str, writes: bool, old: str) -> None:
    mirror.write({f"{old}.md": TEXT})
    await mirror.settle()
    page = mirror.page(old)
    with (mirror.root / f"{old}.md").open("r+b") as stream:
        mirror.rename((f"{old}.md", "n0.md"))
        change(mirror.app, page.id, **{column: f"An app's words.\n\n{TEXT}" if column == "markdown" else "q0"})
        mirror.engine.request_scan()
        mirror.engine.notify()
        for _ in range(ROUNDS):
            await mirror.work()
        if writes:
            stream.seek(0, 2)
            stream.write(b"\nThe program's words.\n")
    await mirror.settle()
    assert mirror.count_living() == 1, mirror.files()
    (path,) = mirror.files()
    assert mirror.page(path.removesuffix(".md")).id == page.id


@pytest.mark.parametrize("head", ["", "---\nid: {id}\n---\n"], ids=["no_id", "id"])
@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"], ["a", "b", "c"], ["c", "b", "a"]], ids="-".join)
@pytest.mark.parametrize("held_name", "ab")
async def test_files_that_changed_names_while_one_is_held_keep_their_pages(
    mirror: Mirror, names: list[str], held_name: str, head: str
) -> None:
    """The held file cannot be read, and the others show only together with it which names changed hands."""
    mirror.write({f"{name}.md": f"# {name}\n\nOnly {name} grows in spring.\n" for name in names})
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in names}
    mirror.write({f"{name}.md": head.format(id=ids[name]) + mirror.files()[f"{name}.md"] for name in names})
    await mirror.settle()
    new_names = dict(zip(names, [*names[1:], names[0]], strict=True))
    with (mirror.root / f"{held_name}.md").open("r+b") as stream:
        for name in names:
            mirror.rename((f"{name}.md", f"{name} aside"))
        for old, new in new_names.items():
            mirror.rename((f"{old} aside", f"{new}.md"))
        mirror.engine.request_scan()
        for _ in range(ROUNDS):
            await mirror.work()
        stream.seek(0, 2)
        stream.write(b"\nThe program's words.\n")
    await mirror.settle()
    assert {old: mirror.page(new).id for old, new in new_names.items()} == ids
    assert mirror.count_living() == len(names), mirror.files()
    assert "The program's words." in mirror.files()[f"{new_names[held_name]}.md"]


@pytest.mark.parametrize("new", ["New/Page.md", "Old/Renamed.md"])
async def test_a_held_file_that_was_moved_while_no_daemon_ran_stays_its_page_even_if_the_index_was_lost(
    database: Database, app_connection: Connection, tmp_path: Path, tenant: TenantId, new: str
) -> None:
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        mirror.write({"Old/Page.md": TEXT, "Old/Other.md": "another\n"})
        await mirror.settle()
        page = mirror.page("Old/Page").id
    for file in (mirror.root / ".mirrord").glob("state.db*"):
        file.unlink()
    mirror.rename(("Old/Page.md", new))
    with (mirror.root / new).open("r+b") as stream:
        async with opened_mirror(database, app_connection, tmp_path, tenant, is_settled=False) as mirror:
            change(mirror.app, page, title="An app's words")
            mirror.engine.notify()
            for _ in range(ROUNDS):
                await mirror.work()
            stream.close()
            await mirror.settle()
            assert mirror.count_living() == len({"Old", new.partition("/")[0]}) + 2, mirror.files()
            assert mirror.page(new.removesuffix(".md")).id == page
