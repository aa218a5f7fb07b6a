"""The law of undo on real files: what tools did in one connection is undone, and the undo of the undo redoes it."""

import asyncio
import itertools
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.harness import Mirrord
from tests.support.laws import scale_examples
from tests.support.undone_trees import UndoneTree

FILES = {
    "Hub.md": "# Hub\n\n[[Leaf]], [[Parent]], [[Child]] and [[Inner#Second]]\n",
    "Leaf.md": "---\nposition: b\n---\n# Leaf\n\n![own](assets/own.txt) and [[Hub]]\n",
    "assets/own.txt": "own bytes",
    "Parent/_index.md": "# Parent\n\n![p](assets/parent.txt) [[Child]]\n",
    "Parent/Child.md": "# Child\n\n![c](assets/child.txt)\n",
    "Parent/assets/parent.txt": "bytes of the parent",
    "Parent/assets/child.txt": "bytes of the child",
    "Plain/Inner.md": "# Inner\n\n## First\n\none\n\n## Second\n\ntwo\n",
}
_numbers = itertools.count(1)

numbers = st.integers(0, 7)
names = st.sampled_from(["New", "Other", "Leaf"])
steps = st.one_of(
    st.tuples(st.just("write"), numbers, st.sampled_from(["# Rewritten\n", "", "two\n\n[[Hub]] and [[Child]]\n"])),
    st.tuples(st.just("create"), numbers, names),
    st.tuples(st.just("move"), numbers, numbers, names),
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("restore"), numbers),
    st.tuples(st.just("attach"), numbers, names),
    st.tuples(st.just("merge"), numbers, numbers),
    st.tuples(st.just("split"), numbers),
    st.tuples(st.just("rename heading"), numbers),
)


class Steps:
    """Steps of an agent on the pages and folders that are there when each of them is made."""

    def __init__(self, agent: Agent, root: Path) -> None:
        self._agent = agent
        self._root = root
        self._trash_ids: list[str] = []

    async def perform(self, step: tuple[Any, ...]) -> None:
        """Call the tool of one step; what it refuses, such as a name that is taken, has no effect."""
        tool, arguments = self._call_of(step)
        if arguments is None:
            return
        result = await self._agent.reply(tool, arguments)
        content = result.structured_content or {}
        if not result.is_error and "trashId" in content:
            self._trash_ids.append(content["trashId"])

    def _call_of(self, step: tuple[Any, ...]) -> tuple[str, dict[str, Any] | None]:
        kind, number, *values = step
        page, place = self._page(number), self._place(number)
        match kind:
            case "write":
                return "write_page", {"path": page, "content": values[0]}
            case "create":
                return "create_page", {"title": values[0], "content": "# Created\n", "parentPath": place}
            case "move":
                return "move_page", {"sourcePath": place, "destinationPath": f"{self._folder(values[0])}/{values[1]}"}
            case "delete":
                return "delete_page", {"path": place, "recursive": True}
            case "restore":
                trash_ids = self._trash_ids
                return "restore_page", {"trashId": trash_ids[number % len(trash_ids)]} if trash_ids else None
            case "attach":
                content = b64encode(values[0].encode()).decode()
                return "add_attachment", {"pagePath": page, "base64": content, "fileName": f"{values[0]}.txt"}
            case "merge":
                return "merge_pages", {"paths": [page], "into": self._page(values[0])}
            case "split":
                return "split_page", {"path": page, "level": 2}
            case _:
                return "rename_heading", {"path": page, "heading": "Second", "to": "Last"}

    def _page(self, number: int) -> str:
        pages = sorted(self._root.rglob("*.md"))
        return self._path_of(pages[number % len(pages)]) if pages else f"{self._root.name}/Absent.md"

    def _folder(self, number: int) -> str:
        folders = [self._root, *sorted(path for path in self._root.rglob("*") if self._is_folder(path))]
        return self._path_of(folders[number % len(folders)])

    def _place(self, number: int) -> str:
        """A page or a folder, folders with a page by their own path."""
        places = sorted(path for path in self._root.rglob("*") if self._is_folder(path) or path.suffix == ".md")
        places = [path for path in places if path.name != "_index.md"]
        return self._path_of(places[number % len(places)]) if places else f"{self._root.name}/Absent.md"

    def _is_folder(self, path: Path) -> bool:
        return path.is_dir() and path.name != "assets"

    def _path_of(self, path: Path) -> str:
        return path.relative_to(self._root.parent).as_posix()


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("undone") / "installation", dsn=module_dsn) as running:
        running.up()
        yield running


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


async def _undo_and_redo(mirrord: Mirrord, token: str, planned: list[tuple[Any, ...]]) -> None:
    root = f"Law {next(_numbers)}"
    tree = UndoneTree(mirrord, root)
    before = tree.fill(FILES)
    parameters = process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes,restructure")
    async with on_stdio(parameters) as agent:
        connection = Steps(agent, mirrord.file(root))
        for step in planned:
            await connection.perform(step)
        after = tree.settled()
        if after == before:
            return
        undo = await tree.undo(agent, before)
        await tree.undo(agent, after, undo)


@pytest.mark.timeout(600)
@settings(max_examples=scale_examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=1, max_size=5))
def test_whatever_tools_did_is_undone_and_redone(mirrord: Mirrord, token: str, planned: list[tuple[Any, ...]]) -> None:
    asyncio.run(_undo_and_redo(mirrord, token, planned))
