"""Names change hands, and the daemon dies at every rename of it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.db.content.entry_writes import StatementBuilder
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable
from mirrord.mirror.tree import kernel
from mirrord.sync import deletions
from mirrord.sync.writing import file_writes
from tests.support.entries import add_folder, change, value
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

TREES = {
    "leaves": {"a.md": "A\n", "b.md": "B\n", "c.md": "C\n"},
    "folders": {f"{name}/{child}.md": f"{name}{child}\n" for name in "abc" for child in "xy"},
    "notes": {"a.md": "A\n", "b.md": "B\n", "c.md": "C\n"} | {f"{name}/x.md": f"{name}x\n" for name in "abc"},
}
NAMES = {"swap": {"a": "b", "b": "a"}, "rotation": {"a": "b", "b": "c", "c": "a"}}
CASES = [("leaves", "rotation"), ("folders", "rotation"), ("notes", "swap"), ("notes", "rotation")]


class Killed(BaseException):
    """The process is gone: nothing after this happens."""


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> Callable[[], bool]:
    """Die before or after the *number*th rename that the kernel is asked for; tells whether that came."""
    original, calls = kernel._renameat2, [0]

    def renameat2(*arguments: object) -> None:
        calls[0] += 1
        if calls[0] == number and not after:
            raise Killed
        original(*arguments)  # type: ignore[arg-type]
        if calls[0] == number:
            raise Killed

    monkeypatch.setattr(kernel, "_renameat2", renameat2)
    return lambda: calls[0] >= number


async def die_before(*_: object) -> None:
    """In the place of a call that the process does not live to make."""
    raise Killed


async def die(mirror: Mirror) -> None:
    mirror.engine.notify()
    try:
        await mirror.work()
    except Killed:
        pass


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("texts", "names"),
    [(TREES[tree], NAMES[names]) for tree, names in CASES],
    ids=["-".join(case) for case in CASES],
)
async def test_wherever_the_daemon_dies_the_next_one_finishes(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    texts: dict[str, str],
    names: dict[str, str],
    after: bool,
) -> None:
    expected = dict(texts)
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        mirror.write(texts)
        await mirror.settle()
        ids = {name: mirror.page(name).id for name in "abc"}
        count = mirror.count_living()
    place = {name: name for name in "abc"}
    for number in range(1, 20):
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(deletions, "QUIET_SECONDS", 0.05)
            place = {name: names.get(at, at) for name, at in place.items()}
            expected = {names.get(path[0], path[0]) + path[1:]: text for path, text in expected.items()}
            async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
                with mirror.app.transaction():
                    for name, page in ids.items():
                        change(mirror.app, page, name=place[name])
                died = kill_at(monkeypatch, number, after=after)
                await die(mirror)
                monkeypatch.undo()
            async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
                await mirror.settle()
                assert mirror.files() == expected
                assert {name: mirror.page(at).id for name, at in place.items()} == ids
                assert mirror.count_living() == count
                assert not list((mirror.root / ".mirrord" / "tmp").rglob("m.*"))
        if not died():
            return
    raise AssertionError("the plan never came to its end")


async def test_a_deletion_in_a_renamed_folder_is_known_after_the_daemon_died_before_it(
    database: Database, app_connection: Connection, tmp_path: Path, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 60.0)
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        mirror.write({"Old/Page.md": "the page\n", "Old/Other.md": "another\n"})
        await mirror.settle()
        page = mirror.page("Old/Page").id
        mirror.rename(("Old", "New"))
        app_connection.execute("DELETE FROM mirrord.page WHERE id = %s", (page,))
        mirror.engine.request_scan()
        mirror.engine.notify()
        path_of_base = "SELECT path FROM mirrord.mirror_base WHERE entry_id = %s"
        while value(app_connection, path_of_base, page) != "New/Page.md":
            await mirror.work()
        assert sorted(mirror.files()) == ["New/Other.md", "New/Page.md"]
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 0.05)
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        assert sorted(mirror.files()) == ["New/Other.md"]
        assert mirror.count_living() == 2


@pytest.mark.parametrize("lost_index", [False, True], ids=["with_index", "without_index"])
@pytest.mark.parametrize("moves", [(), (("Shelf/Page.md", "Shelf/Named.md"),), (("Shelf", "Box"),)], ids=str)
async def test_a_file_that_was_written_and_not_recorded_is_known_under_a_new_name(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
    moves: tuple[tuple[str, str], ...],
    lost_index: bool,
) -> None:
    async with opened_mirror(database, app_connection, tmp_path / "there", tenant) as mirror:
        mirror.write({"Shelf/Page.md": "The page grows.\n", "Shelf/Other.md": "Another one does, too.\n"})
        await mirror.settle()
        ids = sorted(mirror.ids("Shelf/Page", "Shelf/Other"))
    directory = tmp_path / "here"
    async with opened_mirror(database, app_connection, directory, tenant, is_settled=False) as mirror:
        monkeypatch.setattr(file_writes, "_store_bases", die_before)
        while "Shelf/Page.md" not in mirror.files():
            await die(mirror)
        monkeypatch.undo()
        if lost_index:
            mirror.engine.sides.state.store({}, list(mirror.engine.sides.state.load()))
    mirror.rename(*moves)
    async with opened_mirror(database, app_connection, directory, tenant) as mirror:
        pages = mirror.app.execute("SELECT id FROM mirrord.page WHERE kind = 'page' AND deleted_at IS NULL").fetchall()
        assert sorted(page for (page,) in pages) == ids, mirror.files()


@pytest.mark.parametrize("moves", [(), (("Shelf/Page.md", "Shelf/Named.md"),), (("Shelf", "Box"),)], ids=str)
async def test_a_file_that_was_written_and_not_recorded_is_known_after_an_edit_and_a_rename(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
    moves: tuple[tuple[str, str], ...],
) -> None:
    texts = {"Shelf/Page.md": "The page grows.\n", "Shelf/Other.md": "Another one does, too.\n"}
    async with opened_mirror(database, app_connection, tmp_path / "there", tenant) as mirror:
        mirror.write(texts)
        await mirror.settle()
        ids = mirror.ids("Shelf/Other", "Shelf/Page")
    directory = tmp_path / "here"
    async with opened_mirror(database, app_connection, directory, tenant, is_settled=False) as mirror:
        monkeypatch.setattr(file_writes, "_store_bases", die_before)
        while mirror.files() != texts:
            await die(mirror)
        monkeypatch.undo()
    mirror.write({path: f"{text}\nWritten while no daemon ran.\n" for path, text in texts.items()})
    change(app_connection, ids[0], markdown="An app wrote another text.\n")
    mirror.rename(*moves)
    async with opened_mirror(database, app_connection, directory, tenant) as mirror:
        query = "SELECT id, markdown FROM mirrord.page WHERE kind = 'page' AND deleted_at IS NULL"
        texts_of_pages: dict[UUID, str] = dict(mirror.app.execute(query).fetchall())
        assert texts_of_pages.pop(ids[1]) == "The page grows.\n\nWritten while no daemon ran.\n"
        assert "An app wrote" in texts_of_pages.pop(ids[0])
        assert len(texts_of_pages) <= 1, mirror.files()
        assert sorted(mirror.files().values()) == sorted(text for text in mirror.rows().values() if text is not None)


@pytest.mark.parametrize("edit", ["", "\nWritten while no daemon ran.\n"], ids=["as_written", "edited"])
async def test_a_file_with_an_apps_text_that_was_not_recorded_is_known_under_a_new_name(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
    edit: str,
) -> None:
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        mirror.write({"Page.md": "The page grows.\n", "Other.md": "Another one does, too.\n"})
        await mirror.settle()
        page = mirror.page("Page").id
        monkeypatch.setattr(StatementBuilder, "store_base_alone", die_before)
        change(app_connection, page, markdown="An app's text.\n")
        while mirror.files()["Page.md"] != "An app's text.\n":
            await die(mirror)
        monkeypatch.undo()
    mirror.write({"Page.md": f"An app's text.\n{edit}"})
    mirror.rename(("Page.md", "Named.md"))
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        assert mirror.page("Named").id == page
        assert mirror.rows() == {"Named": f"An app's text.\n{edit}", "Other": "Another one does, too.\n"}
        assert mirror.count_living() == 2


@pytest.mark.parametrize("name", ["page.md", "Named.md"])
async def test_a_file_whose_record_was_lost_with_the_connection_is_known_after_an_edit_and_a_rename(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    async def lose_connection(*_: object) -> None:
        raise Unavailable("Postgres is out of reach.")

    async with opened_mirror(database, app_connection, tmp_path / "there", tenant) as mirror:
        mirror.write({"Page.md": "The page grows.\n", "Other.md": "Another one does, too.\n"})
        await mirror.settle()
        page, other = mirror.ids("Page", "Other")
    async with opened_mirror(database, app_connection, tmp_path / "here", tenant, is_settled=False) as mirror:
        monkeypatch.setattr(file_writes, "_store_bases", lose_connection)
        while len(mirror.files()) < 2:
            with suppress(Unavailable):
                await mirror.work()
        monkeypatch.undo()
        mirror.write({"Page.md": "The page grows.\n\nWritten while Postgres was away.\n"})
        mirror.rename(("Page.md", "aside"), ("aside", name))
        await mirror.settle()
        assert mirror.ids(name.removesuffix(".md"), "Other") == [page, other]
        assert mirror.count_living() == 2
        assert mirror.files()[name] == "The page grows.\n\nWritten while Postgres was away.\n"


@pytest.mark.parametrize("is_daemon_killed", [True, False], ids=["killed", "connection_lost"])
async def test_a_directory_that_was_made_and_not_recorded_stays_that_of_its_folder_which_is_renamed_meanwhile(
    database: Database,
    app_connection: Connection,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
    is_daemon_killed: bool,
) -> None:
    def stop(*_: object) -> None:
        raise Killed if is_daemon_killed else Unavailable("Postgres is out of reach.")

    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        mirror.write({"Keep.md": "This page stays.\n"})
        await mirror.settle()
        folder = add_folder(app_connection, name="Twin")
        monkeypatch.setattr(StatementBuilder, "store_base", stop)
        while not (mirror.root / "Twin").exists():
            with suppress(Unavailable):
                await die(mirror)
        monkeypatch.undo()
        change(app_connection, folder, name="Named")
        if not is_daemon_killed:
            await mirror.settle()
    async with opened_mirror(database, app_connection, tmp_path, tenant) as mirror:
        assert mirror.rows().keys() == {"Keep", "Named"}
        assert mirror.page("Named").id == folder
        assert [path.name for path in mirror.root.iterdir() if path.is_dir() and path.name[0] != "."] == ["Named"]
