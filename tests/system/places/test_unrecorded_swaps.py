"""Names change hands before a mirror has recorded its files: a daemon died after it had written them."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.support.entries import change
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

TEXTS = {name: f"# {name}\n\nWhat only {name} says, at some length.\n" for name in ("One", "Two")}


class Hosts:
    """A mirror at work, and the tree of another one, whose daemon wrote every file and recorded only the folder."""

    def __init__(self, mirror: Mirror, root: Path, again: AbstractAsyncContextManager[Mirror]) -> None:
        self.here, self.there, self.again = mirror, root, again
        self.ids = {name: mirror.page(f"Shelf/{name}").id for name in TEXTS}

    def swap(self) -> None:
        """Swap the two files in the other tree."""
        first, second, aside = (self.there / f"Shelf/{name}" for name in ("One.md", "Two.md", "swapping.tmp"))
        first.rename(aside)
        second.rename(first)
        aside.rename(second)

    def delete(self, *names: str) -> None:
        """As an app."""
        for name in names:
            self.here.app.execute("DELETE FROM mirrord.page WHERE id = %s", [self.ids[name]])

    async def meet(self) -> dict[UUID, str | None]:
        """Start the other daemon, and settle until both trees are equal; the texts of the living pages by id."""
        await self.here.settle()
        async with self.again as twin:
            for mirror in (self.here, twin, self.here):
                await mirror.settle()
            assert self.here.files() == twin.files()
        query = "SELECT id, markdown FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page' AND name <> 'Keep'"
        return dict(self.here.app.execute(query).fetchall())


@pytest.fixture
async def hosts(
    database: Database, app_connection: Connection, mirror: Mirror, tmp_path: Path, tenant: TenantId
) -> Hosts:
    mirror.write({"Keep.md": "keep\n", "Shelf/Keep.md": "keep\n"})
    await mirror.settle()
    async with opened_mirror(database, app_connection, tmp_path / "there", tenant) as twin:
        root = twin.root
    mirror.write({f"Shelf/{name}.md": text for name, text in TEXTS.items()})
    await mirror.settle()
    for name, text in TEXTS.items():
        (root / f"Shelf/{name}.md").write_text(text, encoding="utf-8")
    return Hosts(mirror, root, opened_mirror(database, app_connection, tmp_path / "there", tenant))


@pytest.mark.parametrize("cased", [(), ("One",), ("Two",)], ids=["names", "One in another case", "Two in another case"])
@pytest.mark.parametrize("deleted", [(), ("One",), ("Two",), ("One", "Two")], ids=["", "One", "Two", "both"])
async def test_pages_keep_their_ids_though_apps_deleted_rows(
    hosts: Hosts, deleted: tuple[str, ...], cased: tuple[str, ...]
) -> None:
    hosts.swap()
    for name in cased:
        (hosts.there / f"Shelf/{name}.md").rename(hosts.there / f"Shelf/{name.swapcase()}.md")
    hosts.delete(*deleted)
    assert await hosts.meet() == {hosts.ids[name]: text for name, text in TEXTS.items()}


async def test_a_page_that_was_edited_elsewhere_is_known_by_its_earlier_bytes(hosts: Hosts) -> None:
    hosts.swap()
    hosts.here.write({"Shelf/Two.md": f"{TEXTS['Two']}\nA line of a person.\n"})
    await hosts.here.settle()
    hosts.delete("One")
    living = await hosts.meet()
    assert living == {hosts.ids["One"]: TEXTS["One"], hosts.ids["Two"]: f"{TEXTS['Two']}\nA line of a person.\n"}


async def test_a_page_that_an_app_moved_is_known_too(hosts: Hosts) -> None:
    hosts.swap()
    change(hosts.here.app, hosts.ids["Two"], parent_id=None)
    await hosts.here.settle()
    hosts.delete("One")
    assert await hosts.meet() == {hosts.ids[name]: text for name, text in TEXTS.items()}


async def test_a_copy_beside_an_edited_page_is_a_page_of_its_own(hosts: Hosts) -> None:
    (hosts.there / "Shelf/Copy.md").write_text(TEXTS["One"], encoding="utf-8")
    edited = f"{TEXTS['One']}\nA line of a person.\n"
    (hosts.there / "Shelf/One.md").write_text(edited, encoding="utf-8")
    living = await hosts.meet()
    assert hosts.here.page("Shelf/Copy").markdown == TEXTS["One"]
    assert hosts.here.page("Shelf/Copy").id not in hosts.ids.values()
    assert living[hosts.ids["Two"]] == TEXTS["Two"]
