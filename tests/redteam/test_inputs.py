"""Nothing that is sent or written makes a tool tell secrets, work without end, or fail without a sentence."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from tests.redteam import inputs
from tests.redteam.judging import DONE, Attacker, attacker
from tests.redteam.world import world_in

Attacking = AsyncIterator[Attacker]


async def all_end(tmp_path: Path, calls: Iterable[inputs.Call], codes: frozenset[str]) -> None:
    world = world_in(tmp_path)
    async with attacker(world) as attacking:
        for tool, arguments in calls:
            await attacking.attack(tool, arguments, codes)
        await attacking.attack("read_page", {"path": "Welcome.md"}, frozenset({DONE}))


async def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    await all_end(tmp_path, inputs.SHAPES, inputs.SHAPES_END)


async def test_edits_of_no_known_form_change_nothing(tmp_path: Path) -> None:
    await all_end(tmp_path, inputs.EDITS, inputs.EDITS_END)


async def test_forged_cursors_are_refused(tmp_path: Path) -> None:
    lists = (("list_pages", {"cursor": cursor}) for cursor in inputs.CURSORS)
    searches = (("search_pages", {"query": "x", "cursor": cursor}) for cursor in inputs.CURSORS)
    await all_end(tmp_path, (*lists, *searches), inputs.CURSORS_END)


async def test_forged_ids_and_digests_are_refused(tmp_path: Path) -> None:
    await all_end(tmp_path, inputs.FORGED, inputs.FORGED_END)


async def test_no_pattern_searches_without_end(tmp_path: Path) -> None:
    calls = (("search_pages", {"query": pattern, "regex": True}) for pattern in inputs.PATTERNS)
    await all_end(tmp_path, calls, inputs.PATTERNS_END)


async def test_no_words_search_without_end(tmp_path: Path) -> None:
    await all_end(
        tmp_path, (("search_pages", {"query": query}) for query in inputs.QUERIES), frozenset({DONE, "INVALID_QUERY"})
    )


async def test_what_is_no_query_is_refused(tmp_path: Path) -> None:
    calls = (("search_pages", {"query": query}) for query in inputs.NO_QUERIES)
    await all_end(tmp_path / "world", calls, frozenset({"INVALID_QUERY"}))


@pytest.mark.parametrize("bomb", inputs.YAML)
async def test_no_front_matter_goes_off(tmp_path: Path, bomb: str) -> None:
    await goes_off(tmp_path, f"---\n{inputs.YAML[bomb]}---\n\nText.\n")


@pytest.mark.parametrize("bomb", inputs.MARKDOWN)
async def test_no_markdown_goes_off(tmp_path: Path, bomb: str) -> None:
    await goes_off(tmp_path, inputs.MARKDOWN[bomb])


async def goes_off(tmp_path: Path, text: str) -> None:
    """Write *text*, and let whoever meets it afterwards read it: another program may have written it too."""
    world = world_in(tmp_path)
    (world.root / "Saved.md").write_bytes(text.encode())
    async with attacker(world) as attacking:
        await attacking.attack("write_page", {"path": "Bomb.md", "content": text}, inputs.WRITTEN)
        for tool, arguments in _MET:
            await attacking.attack(tool, arguments, _ENDS)


_ENDS = frozenset({DONE, "HEADING_NOT_FOUND", "HEADING_AMBIGUOUS", "INVALID_PAGE", "INVALID_FRONT_MATTER"})
_MET: tuple[inputs.Call, ...] = (
    ("read_page", {"path": "Saved.md"}),
    ("read_page", {"path": "Saved.md", "section": "x"}),
    ("list_pages", {"includeContent": True}),
    ("get_tree", {"includeMetadata": True}),
    ("get_page_links", {"path": "Saved.md"}),
    ("search_pages", {"query": "text x"}),
    ("edit_page", {"path": "Saved.md", "edits": [{"frontMatter": {"set": {"status": "x"}}}]}),
    ("edit_page", {"path": "Saved.md", "edits": [{"heading": "x", "action": "append", "text": "y"}]}),
    ("move_page", {"sourcePath": "Saved.md", "destinationPath": "Projects/Moved.md"}),
)
