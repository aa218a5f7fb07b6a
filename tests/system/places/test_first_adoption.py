"""What happens to a file while its new mirror still adopts its tree counts, once this mirror has a base of the file."""

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.sync.passes import finish_writing
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

TEXT = "# The plan\n\nWe sow in spring.\n"
TREE = {"Keep.md": "keep\n", "Shelf/Plan.md": TEXT, "Shelf/Other.md": "another\n"}
MOVES = {
    "by case": ("Shelf/Plan.md", "Shelf/plan.md"),
    "renamed": ("Shelf/Plan.md", "Shelf/New.md"),
    "moved": ("Shelf/Plan.md", "Box/Plan.md"),
    "its folder by case": ("Shelf", "shelf"),
    "its folder renamed": ("Shelf", "Attic"),
    "its folder moved": ("Shelf", "Attic/Shelf"),
}


@pytest.fixture
async def life() -> AsyncIterator[AsyncExitStack]:
    """The life of the mirror `beginning`: closing it ends that as a SIGKILL does, wherever it was."""
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture(params=["files", "rows"])
async def beginning(
    request: pytest.FixtureRequest,
    mirror: Mirror,
    database: Database,
    tmp_path: Path,
    tenant: TenantId,
    life: AsyncExitStack,
) -> Mirror:
    """A new mirror whose first adoption is under way: TREE is in files and rows, made from the other side."""
    if request.param == "rows":
        mirror.write(TREE)
        await mirror.settle()
    twin = await life.enter_async_context(another_mirror(database, mirror.app, tmp_path, tenant))
    if request.param == "files":
        twin.write(TREE)
    await adopt_until_agreed(twin)
    return twin


@asynccontextmanager
async def another_mirror(
    database: Database, connection: Connection, directory: Path, tenant: TenantId
) -> AsyncIterator[Mirror]:
    """A new mirror of the tenant in a tree of its own, or what is left of it, that has not worked yet."""
    async with opened_mirror(database, connection, directory / "there", tenant, is_settled=False) as twin:
        yield twin


async def adopt_until_agreed(mirror: Mirror) -> None:
    """Work until the bases of TREE are stored, and no further: the adoption goes on."""
    await mirror.engine.compare_all()
    while mirror.engine.intake.is_ready:
        await mirror.engine._run_pass()
    await finish_writing(mirror.engine.parts)
    assert mirror.engine.adoption.active
    assert mirror.files() == TREE


async def notice(mirror: Mirror, *paths: str) -> None:
    """Look where a watcher would report changes, as soon as it would, and finish."""
    mirror.engine.queue.mark(paths)
    while len(mirror.engine.queue):
        await mirror.work()
    await mirror.settle()


def delete_plan(mirror: Mirror) -> None:
    (mirror.root / "Shelf/Plan.md").unlink()


def assert_without_plan(mirror: Mirror) -> None:
    assert mirror.files() == {path: text for path, text in TREE.items() if path != "Shelf/Plan.md"}
    assert mirror.rows() == {"Keep": "keep\n", "Shelf": None, "Shelf/Other": "another\n"}


def assert_moved(mirror: Mirror, move: tuple[str, str], ids: set[UUID]) -> None:
    texts = {path.replace(*move, 1) if path.startswith(move[0]) else path: text for path, text in TREE.items()}
    assert mirror.files() == texts
    pages = {path: text for path, text in mirror.rows().items() if text is not None}
    assert pages == {path.removesuffix(".md"): text for path, text in texts.items()}
    assert set(mirror.ids(*pages)) == ids


async def test_a_file_that_is_deleted_stays_deleted(beginning: Mirror) -> None:
    delete_plan(beginning)
    await notice(beginning, "Shelf/Plan.md")
    assert_without_plan(beginning)


@pytest.mark.parametrize("noticed", ["both", "old", "new"])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
async def test_a_file_under_a_new_name_is_the_page_that_it_was(
    beginning: Mirror, move: tuple[str, str], noticed: str
) -> None:
    if (noticed, move) == ("old", MOVES["its folder by case"]):
        pytest.skip("the scan forgets the inode of a folder that is gone: docs/reliability.md")
    ids = set(beginning.ids("Keep", "Shelf/Plan", "Shelf/Other"))
    beginning.rename(move)
    await notice(beginning, *{"both": move, "old": move[:1], "new": move[1:]}[noticed])
    assert_moved(beginning, move, ids)


@pytest.mark.parametrize("is_noticed", [False, True], ids=["while no daemon runs", "after the next start"])
async def test_a_file_that_is_deleted_stays_deleted_where_the_daemon_was_killed(
    beginning: Mirror, life: AsyncExitStack, database: Database, tmp_path: Path, tenant: TenantId, is_noticed: bool
) -> None:
    await life.aclose()
    if not is_noticed:
        delete_plan(beginning)
    async with another_mirror(database, beginning.app, tmp_path, tenant) as restarted:
        if is_noticed:
            await adopt_until_agreed(restarted)
            delete_plan(restarted)
        await notice(restarted, *["Shelf/Plan.md"][:is_noticed])
        assert_without_plan(restarted)


@pytest.mark.parametrize("is_noticed", [False, True], ids=["while no daemon runs", "after the next start"])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
async def test_a_file_under_a_new_name_is_the_page_that_it_was_where_the_daemon_was_killed(
    beginning: Mirror,
    life: AsyncExitStack,
    database: Database,
    tmp_path: Path,
    tenant: TenantId,
    move: tuple[str, str],
    is_noticed: bool,
) -> None:
    ids = set(beginning.ids("Keep", "Shelf/Plan", "Shelf/Other"))
    await life.aclose()
    if not is_noticed:
        beginning.rename(move)
    async with another_mirror(database, beginning.app, tmp_path, tenant) as restarted:
        if is_noticed:
            await adopt_until_agreed(restarted)
            restarted.rename(move)
        await notice(restarted, *move[: 2 * is_noticed])
        assert_moved(restarted, move, ids)


async def test_an_edit_back_to_an_earlier_text_is_an_edit(beginning: Mirror) -> None:
    for text in ("second\n", TEXT):
        beginning.write({"Shelf/Plan.md": text})
        beginning.engine.queue.mark(["Shelf/Plan.md"])
        while beginning.engine.intake.is_ready:
            await beginning.engine._run_pass()
        await finish_writing(beginning.engine.parts)
    assert beginning.engine.adoption.active
    await beginning.settle()
    assert beginning.files() == TREE
    assert beginning.rows()["Shelf/Plan"] == TEXT


@pytest.mark.parametrize("lost", [".mirrord", ".mirrord/state.db"])
async def test_what_is_missing_in_a_tree_without_its_state_is_made_again(
    beginning: Mirror, life: AsyncExitStack, database: Database, tmp_path: Path, tenant: TenantId, lost: str
) -> None:
    """The bases may be those of another state of the tree: nothing says that a person deleted the file."""
    await life.aclose()
    delete_plan(beginning)
    for path in [beginning.root / lost, *(beginning.root / ".mirrord").glob("state.db-*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    async with another_mirror(database, beginning.app, tmp_path, tenant) as restarted:
        await restarted.settle()
        assert restarted.files() == TREE
        assert restarted.rows().keys() == {"Keep", "Shelf", "Shelf/Plan", "Shelf/Other"}


async def test_a_new_mirror_of_a_part_of_the_pages_deletes_nothing(
    mirror: Mirror, database: Database, tmp_path: Path, tenant: TenantId
) -> None:
    mirror.write(TREE)
    await mirror.settle()
    versions = mirror.versions()
    async with another_mirror(database, mirror.app, tmp_path, tenant) as restored:
        restored.write({"Keep.md": "keep\n"})
        await restored.settle()
        await mirror.settle()
        assert restored.files() == mirror.files() == TREE
        assert mirror.versions() == versions


async def test_many_files_that_go_in_a_first_adoption_halt_it(beginning: Mirror) -> None:
    many = {f"Many/Page {number:02}.md": f"text {number}\n" for number in range(40)}
    beginning.write(many)
    beginning.engine.queue.mark(many)
    while beginning.engine.intake.is_ready:
        await beginning.engine._run_pass()
    await finish_writing(beginning.engine.parts)
    assert beginning.engine.adoption.active
    for path in many:
        (beginning.root / path).unlink()
    beginning.engine.queue.mark(many)
    while not beginning.engine.halts.is_halted:
        await beginning.work()
    assert len([path for path in beginning.rows() if path.startswith("Many/")]) == len(many)
