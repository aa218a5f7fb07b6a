"""What agents' tools do to files and rows is undone: all is as it was before, and the undo of the undo redoes it."""

import itertools
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.clients import on_stdio, process
from tests.support.commands import Near
from tests.support.harness import Mirrord
from tests.support.undone_trees import UndoneTree

TOOLS = "pages,changes,restructure"
FILES = {
    "Hub.md": "# Hub\n\n[[Leaf]], [[Parent]], [[Child]], ![it](assets/leaf.txt) and [[Inner#Second]]\n",
    "Leaf.md": "---\nposition: b\n---\n# Leaf\n\n![own](assets/own.txt) and [[Hub]]\n",
    "assets/own.txt": "own bytes",
    "assets/leaf.txt": "bytes of two pages",
    "Parent/_index.md": "---\nposition: a\n---\n# Parent\n\n![p](assets/parent.txt) [[Child]]\n",
    "Parent/Child.md": "# Child\n\n![c](assets/child.txt)\n",
    "Parent/assets/parent.txt": "bytes of the parent",
    "Parent/assets/child.txt": "bytes of the child",
    "Plain/Inner.md": "# Inner\n\n## First\n\none ![i](assets/inner.txt)\n\n## Second\n\ntwo\n",
    "Plain/assets/inner.txt": "bytes of the inner page",
    "Short.md": "# Short\n\nshort\n",
}
_numbers = itertools.count(1)
_calls: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "a leaf with its attachment moves into a folder": [
        ("move_page", {"sourcePath": "Leaf.md", "destinationPath": "Plain/Leaf.md"})
    ],
    "a leaf with its attachment moves below a leaf": [
        ("move_page", {"sourcePath": "Leaf.md", "destinationPath": "Short/Leaf.md"})
    ],
    "a leaf with its attachment moves twice": [
        ("move_page", {"sourcePath": "Leaf.md", "destinationPath": "Plain/Leaf.md"}),
        ("move_page", {"sourcePath": "Plain/Leaf.md", "destinationPath": "Parent/Leaf.md"}),
    ],
    "a page leaves the page of a folder": [
        ("move_page", {"sourcePath": "Parent/Child.md", "destinationPath": "Moved child.md"})
    ],
    "a folder page moves": [("move_page", {"sourcePath": "Parent", "destinationPath": "Plain/Renamed"})],
    "a folder without a page moves": [("move_page", {"sourcePath": "Plain", "destinationPath": "Parent/Plain"})],
    "a folder page is deleted": [("delete_page", {"path": "Parent", "recursive": True})],
    "a folder without a page is deleted": [("delete_page", {"path": "Plain", "recursive": True})],
    "a leaf is deleted": [("delete_page", {"path": "Leaf.md"})],
    "a folder gets a page": [("write_page", {"path": "Plain", "content": "# Plain now\n"})],
    "a page below a leaf is created": [("create_page", {"title": "New", "content": "# N\n", "parentPath": "Short"})],
    "pages are merged": [("merge_pages", {"paths": ["Leaf.md", "Plain/Inner.md"], "into": "Parent"})],
    "a folder page is merged": [("merge_pages", {"paths": ["Parent"], "into": "Short.md"})],
    "a page is split": [("split_page", {"path": "Plain/Inner.md", "level": 2, "parentPath": "Short.md"})],
    "a heading is renamed": [("rename_heading", {"path": "Plain/Inner.md", "heading": "Second", "to": "Last"})],
    "a file is attached": [
        ("add_attachment", {"pagePath": "Short.md", "base64": b64encode(b"new").decode(), "fileName": "new.txt"}),
        ("add_attachment", {"pagePath": "Parent", "base64": b64encode(b"more").decode(), "fileName": "more.txt"}),
    ],
}
_PATHS = frozenset({"path", "sourcePath", "destinationPath", "pagePath", "parentPath", "into", "paths"})


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("undone") / "installation", dsn=module_dsn) as running:
        running.up()
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


def _below(root: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """*arguments* with their paths below *root*."""

    def lower(value: Any) -> Any:
        return [lower(path) for path in value] if isinstance(value, list) else f"{root}/{value}"

    return {key: lower(value) if key in _PATHS else value for key, value in arguments.items()}


@pytest.mark.parametrize("title", _calls)
async def test_what_a_tool_does_is_undone_and_redone(mirrord: Mirrord, token: str, title: str) -> None:
    root = f"Tree {next(_numbers)}"
    tree = UndoneTree(mirrord, root)
    before = tree.fill(FILES)
    async with on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", TOOLS)) as agent:
        for tool, arguments in _calls[title]:
            await agent.call(tool, **_below(root, arguments))
        after = tree.settled()
        assert after != before
        undo = await tree.undo(agent, before)
        await tree.undo(agent, after, undo)


@pytest.mark.parametrize("path", ["Plain", "Parent", "Leaf.md"])
async def test_what_comes_back_from_the_trash_goes_again_with_its_attachments(
    mirrord: Mirrord, token: str, path: str
) -> None:
    root = f"Tree {next(_numbers)}"
    tree = UndoneTree(mirrord, root)
    tree.fill(FILES)
    server = process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", TOOLS)
    async with on_stdio(server) as agent:
        deleted = await agent.call("delete_page", path=f"{root}/{path}", recursive=True)
    before = tree.settled()
    async with on_stdio(server) as agent:
        await agent.call("restore_page", trashId=deleted["trashId"])
        after = tree.settled()
        assert after != before
        undo = await tree.undo(agent, before)
        await tree.undo(agent, after, undo)
