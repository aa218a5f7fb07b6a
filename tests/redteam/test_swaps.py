"""What is swapped for a link while a tool works leads it out no more than a link that was there before."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mirrord.mirror.tree import kernel
from tests.redteam.judging import attacker, call, told
from tests.redteam.world import inside, unswapped, world_in

_ROUNDS = 3  # of each call while things change places without a pause

# What is swapped, by the link that takes its place: both below the base.
SWAPS: Mapping[str, tuple[str, str]] = {
    "a page": ("mirror/demo/Projects/Alpha.md", "elsewhere/Alpha.md"),
    "a page for another tenant's": ("mirror/demo/Projects/Alpha.md", "mirror/rival-ltd/Secret.md"),
    "a folder": ("mirror/demo/Projects", "elsewhere"),
    "a folder for another tenant's": ("mirror/demo/Projects", "mirror/rival-ltd/Projects"),
    "the assets": ("mirror/demo/Projects/assets", "elsewhere/assets"),
    "an upload": ("uploads/plan.png", "elsewhere/secret.txt"),
    "the records": ("mirror/demo/.records", "elsewhere"),
}
CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("read_page", {"path": "Projects/Alpha.md"}),
    ("read_pages", {"paths": ["Projects/Alpha.md", "Projects"]}),
    ("list_pages", {"depth": 3, "includeContent": True}),
    ("get_tree", {"includeMetadata": True}),
    ("search_pages", {"query": "secret"}),
    ("get_page_links", {"path": "Projects/Alpha.md"}),
    ("edit_page", {"path": "Projects/Alpha.md", "edits": [{"frontMatter": {"set": {"a": "b"}}}]}),
    ("write_page", {"path": "Projects/Alpha.md", "content": "---\ntitle: Alpha\n---\nmine\n"}),
    ("create_page", {"title": "New", "parentPath": "Projects"}),
    ("add_attachment", {"pagePath": "Projects/Alpha.md", "filePath": "<UPLOADS>/plan.png"}),
    ("move_page", {"sourcePath": "Notes.md", "destinationPath": "Projects/Notes.md"}),
    ("move_page", {"sourcePath": "Projects/Notes.md", "destinationPath": "Notes.md"}),
    ("delete_page", {"path": "Projects/Alpha.md"}),
)


@pytest.mark.parametrize("case", SWAPS)
async def test_nothing_swapped_for_a_link_meanwhile_leads_out(tmp_path: Path, case: str) -> None:
    world = world_in(tmp_path)
    swapped, target = (world.base / path for path in SWAPS[case])
    async with attacker(world) as attacking:
        with swapping(swapped, target):
            before = unswapped(world)
            for _ in range(_ROUNDS):
                for tool, arguments in CALLS:
                    outcome = await call(attacking.client, tool, world.filled(arguments))
                    assert told(world, [world.filled(arguments)], outcome.text) == []
                    assert unswapped(world) == before
    contents = [state[-1] for path, state in inside(world).items() if "/assets/" in path]
    assert not any(isinstance(content, bytes) and b"canary" in content for content in contents)


@contextmanager
def swapping(swapped: Path, target: Path) -> Iterator[None]:
    """Let *swapped* and a link to *target* change places, again and again, for the length of a `with`."""
    swapped.parent.mkdir(parents=True, exist_ok=True)
    link = swapped.with_name(".swapped")
    link.symlink_to(target)
    stop = threading.Event()
    thread = threading.Thread(target=_swap, args=(swapped, link, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _swap(swapped: Path, link: Path, stop: threading.Event) -> None:
    directory = os.open(swapped.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while not stop.wait(0.0005):
            try:
                kernel.exchange(directory, swapped.name, directory, link.name)
            except FileNotFoundError:  # deleted, or moved away with its folder
                continue
    finally:
        os.close(directory)
