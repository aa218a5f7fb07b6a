"""Files that a mirror moved, and could not record because its connections were cut, stay the files of their pages."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import psycopg
import pytest

from mirrord.db.content.entry_writes import Statement, run_statements
from mirrord.db.database import Connection as OwnConnection
from mirrord.errors import Unavailable
from mirrord.sync.writing import file_moves
from tests.support.entries import add_folder, add_page, change
from tests.support.mirrors import Mirror
from tests.support.rows import Connection

FIRST_TEXT, SECOND_TEXT = "What only the first page says.\n", "What only the second page says.\n"
MAX_ROUNDS = 8  # of work, until a cut is met and made up for
NEW_NAMES = pytest.mark.parametrize("names", [("One", "Two"), ("Two", "One"), ("New", "New"), ("New", "Newer")])


class Cut:
    """Cuts the connections of the engine once, after files were moved and before that is recorded."""

    def __init__(self, admin_dsn: str, spared_pid: int) -> None:
        self._admin = psycopg.connect(admin_dsn, autocommit=True)
        self._spared_pid = spared_pid
        self.is_due = False

    async def record(self, connection: OwnConnection, statements: Sequence[Statement]) -> list[int | None]:
        """In the place of run_statements()."""
        if self.is_due and statements:
            self.is_due = False
            query = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE application_name = 'mirrord' AND datname = current_database() AND pid <> %s"""
            self._admin.execute(query, [self._spared_pid])
        return await run_statements(connection, statements)

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()


@pytest.fixture
def cut(admin_dsn: str, daemon_connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cut]:
    cut = Cut(admin_dsn, daemon_connection.info.backend_pid)
    monkeypatch.setattr(file_moves, "run_statements", cut.record)
    yield cut
    cut.close()


async def work_until_cut(mirror: Mirror, cut: Cut) -> None:
    """Work until the connections were cut, as the engine's own loop does."""
    cut.is_due = True
    mirror.engine.notify()
    with pytest.raises(Unavailable):
        await work_rounds(mirror)
    assert not cut.is_due
    await mirror.engine.sides.database.replace_broken()


async def work_rounds(mirror: Mirror) -> None:
    for _ in range(MAX_ROUNDS):
        await mirror.work()


def exchange_places(
    connection: Connection, first: UUID, second: UUID, parents: tuple[UUID, UUID], names: tuple[str, str]
) -> None:
    """Give both pages new places in one transaction, as another mirror of the tenant does."""
    with connection.transaction():
        connection.execute("SET CONSTRAINTS ALL DEFERRED")
        for page, parent, name in zip((first, second), parents, names, strict=True):
            change(connection, page, parent_id=parent, name=name, name_key=name.lower())


async def write_two_pages(mirror: Mirror) -> tuple[UUID, UUID, tuple[UUID, UUID]]:
    """Both pages, and the folder of either."""
    mirror.write({"Box/One.md": FIRST_TEXT, "Shelf/Two.md": SECOND_TEXT})
    await mirror.settle()
    first, second, box, shelf = mirror.ids("Box/One", "Shelf/Two", "Box", "Shelf")
    return first, second, (box, shelf)


@NEW_NAMES
async def test_moved_at_once(mirror: Mirror, daemon_connection: Connection, cut: Cut, names: tuple[str, str]) -> None:
    first, second, (box, shelf) = await write_two_pages(mirror)
    exchange_places(daemon_connection, first, second, (shelf, box), names)
    await work_until_cut(mirror, cut)
    await mirror.settle()
    assert mirror.files() == {f"Shelf/{names[0]}.md": FIRST_TEXT, f"Box/{names[1]}.md": SECOND_TEXT}
    assert mirror.ids(f"Shelf/{names[0]}", f"Box/{names[1]}") == [first, second]


@NEW_NAMES
async def test_swapped_and_moved_again_meanwhile(
    mirror: Mirror, daemon_connection: Connection, cut: Cut, names: tuple[str, str]
) -> None:
    first, second, (box, shelf) = await write_two_pages(mirror)
    exchange_places(daemon_connection, first, second, (shelf, box), ("Two", "One"))
    await work_until_cut(mirror, cut)
    exchange_places(daemon_connection, first, second, (shelf, box), names)
    mirror.engine.notify()
    await mirror.settle()
    assert mirror.files() == {f"Shelf/{names[0]}.md": FIRST_TEXT, f"Box/{names[1]}.md": SECOND_TEXT}
    assert mirror.ids(f"Shelf/{names[0]}", f"Box/{names[1]}") == [first, second]


async def test_the_new_directory_of_a_moved_page_stays_that_of_its_folder_which_is_renamed_meanwhile(
    mirror: Mirror, daemon_connection: Connection, cut: Cut
) -> None:
    mirror.write({"Box/One.md": FIRST_TEXT, "Keep.md": SECOND_TEXT})
    await mirror.settle()
    page, box = mirror.ids("Box/One", "Box")
    with mirror.app.transaction():
        folder = add_folder(mirror.app, name="Twin")
        change(mirror.app, page, parent_id=folder)
        child = add_page(mirror.app, name="Child", parent_id=folder, markdown="made by another mirror\n")
    await work_until_cut(mirror, cut)
    assert (mirror.root / "Twin/One.md").is_file()
    change(mirror.app, folder, name="Named")
    await mirror.settle()
    assert mirror.rows().keys() == {"Box", "Keep", "Named", "Named/One", "Named/Child"}
    assert mirror.ids("Box", "Named", "Named/One", "Named/Child") == [box, folder, page, child]
    assert not (mirror.root / "Twin").exists()
