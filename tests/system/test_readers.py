"""What files tell a reader that is not the daemon is what Postgres tells: ids, names, links, also after changes."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrord.domain.entry import TenantId
from mirrord.mirror.read.link_index import LinkIndex
from mirrord.mirror.read.page_catalogue import Catalogue
from mirrord.mirror.tree.tenant_tree import Tree
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Awaited, Mirrord, eventually

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
VAULT = Path(__file__).parents[3] / "shared" / "corpora" / "foam" / "docs"
TRICKY = {
    "Tricky/Note.md": "[[Note]] [[note]] [[Twin]] [[Other title]] [[An alias]] [[Nowhere]] [[Tricky/Sub]] [s](Sub/)",
    "Tricky/Sub/_index.md": "---\ntitle: Twin\n---\n[up](../Note.md) [[../Note]] [root](/Tricky/Note.md) [[./Leaf]]",
    "Tricky/Sub/Leaf.md": "---\ntitle: Other title\naliases: [An alias, 2024]\n---\n[[2024]] ![[map.png]] [[_index]]",
    "Tricky/Sub/Other.md": "![m](assets/map.png) ![m](map.png) [[map.png]] [s](../Sub) [s](.) [s](..)",
    "Tricky/Sub/assets/map.png": "",
    "Tricky/Folder/note.md": "[[Folder]] [f](../Folder/) [[Tricky/Folder/note.md]] `[[Note]]` [x](Note%20x.md#part)",
    "Tricky/Folder/Note x.md": "---\nid: my-own-key\ntitle: Twin\n---\n[[Twin]] [a](<Note x.md>)\n\n[d]: note.md 'd'\n",
    "Tricky/Habit.md": "[[Child]] [c](Habit/Child.md) [[#here]]",
    "Tricky/Habit/Child.md": "[[Habit]] [h](../Habit.md) [r](Tricky/Habit.md)",
}


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        shutil.copytree(SAMPLE, installed.root)
        if VAULT.is_dir():
            shutil.copytree(VAULT, installed.root / "Foam")
        for path, text in TRICKY.items():
            save(_made(installed, path), text)
        installed.up()
        yield installed


def _made(mirrord: Mirrord, path: str) -> Path:
    file = mirrord.file(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


class Reader:
    """Somebody with the tree's files and nothing else."""

    def __init__(self, mirrord: Mirrord) -> None:
        (tenant,) = mirrord.app.execute("SELECT id FROM mirrord.tenant").fetchall()
        self.catalogue = Catalogue(Tree(mirrord.root), TenantId(tenant[0]))
        self.linkage = LinkIndex()

    def links(self) -> set[tuple[str, str, str | None]]:
        """(page, target as written, path of what is meant) of every link that leads to another place."""
        snapshot = self.catalogue.snapshot()
        return {
            (path, target.written, target.path)
            for path in snapshot.pages
            for target in self.linkage.outgoing(snapshot, path)
        }

    def ids(self) -> dict[str, str]:
        """The id of every page and folder, by its path without `.md`."""
        snapshot = self.catalogue.snapshot()
        cards = [
            *snapshot.summaries_by_path.values(),
            *(card for path in snapshot.folders if (card := snapshot.find(path))),
        ]
        return {
            path.removesuffix("/_index.md").removesuffix(".md"): str(entry_id)
            for path, entry_id in snapshot.ids(cards).items()
        }


def _links(mirrord: Mirrord) -> set[tuple[str, str, str | None]]:
    outgoing = json.loads(mirrord.run("links", "--json").stdout)["outgoing"]
    links = ((link["from"], link["written"].partition("#")[0], link["to"]) for link in outgoing)
    return {(page, written, to) for page, written, to in links if written}


def _ids(mirrord: Mirrord) -> dict[str, str]:
    query = """
        WITH RECURSIVE walk (id, path) AS (
            SELECT id, name FROM mirrord.page WHERE parent_id IS NULL AND deleted_at IS NULL
            UNION ALL
            SELECT page.id, walk.path || '/' || page.name
              FROM walk JOIN mirrord.page ON page.parent_id = walk.id WHERE deleted_at IS NULL)
        SELECT path, id::text FROM walk"""
    return dict(mirrord.app.execute(query.encode()).fetchall())


def _await_same_links(mirrord: Mirrord, reader: Reader) -> None:
    try:
        eventually(lambda: _links(mirrord) == reader.links(), "links to be the same in files and in Postgres", 60.0)
    except Awaited:
        assert _links(mirrord) == reader.links()


def test_readers_and_postgres_say_the_same(mirrord: Mirrord) -> None:
    reader = Reader(mirrord)
    mirrord.flush()
    _await_same_links(mirrord, reader)
    assert _ids(mirrord) == reader.ids()
    assert len([link for link in reader.links() if link[2] is not None]) > 20

    mirrord.file("Tricky/Note.md").rename(mirrord.file("Tricky/Folder/Note 2.md"))
    shutil.copy(mirrord.file("Welcome.md"), mirrord.file("A copy.md"))
    mirrord.file("Tricky/Sub").rename(mirrord.file("Moved"))
    save(mirrord.file("Tricky/Habit.md"), "---\naliases: Nowhere\n---\n[[Leaf]]\n")
    mirrord.flush()
    _await_same_links(mirrord, reader)
    assert _ids(mirrord) == reader.ids()
