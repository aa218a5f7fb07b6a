"""No collection, category or file of one leads out of the tenant, works without end, or overwrites what is not one."""

from pathlib import Path
from typing import Any

import pytest

from tests.redteam import inputs
from tests.redteam.judging import DONE, attacker
from tests.redteam.test_inputs import all_end
from tests.redteam.world import RIVAL, world_in

_NAMES: tuple[Any, ...] = (
    *("../x", "..", f"../../../{RIVAL}/x", "a\\b", "a\0", "x.yaml", "-rf", "𝒳", "x" * 100_000, "", "a\n", "%2e%2e"),
)
_NOWHERE = frozenset({"NOT_FOUND", "INVALID_NAME", "CATEGORY_NOT_FOUND", "INVALID_ARGUMENTS"})
_DIRECTORIES = (f"../{RIVAL}", "/etc", "..", "a/../../b", ".records", ".mirrord/tmp", "assets", "a\0", "x" * 10_000)
_PATTERNS = (
    *(
        "../*",
        f"../../{RIVAL}/**",
        "a/../../b",
        "\0",
        "",
        "!",
        "/",
        "x" * 201,
        "**/" * 60,
        "[",
        "[!",
        "[a-",
        "[]]",
        "\\",
    ),
    *("*a" * 90, "?*" * 90, "[a-z]*" * 30, "(a+)+$", "{a,b}", "!" * 100, "**", "***", "a**b/**c"),
)
_BROKEN = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\ncategories: [*b]\n",
    "depth": "categories: " + "[" * 5_000 + "\n",
    "size": "categories: [" + "a, " * 100_000 + "a]\n",
    "tag": "categories: !!python/object/apply:os.system [id]\n",
    "latin": "categories: [caf\xe9]\n",
    "nul": "categories: [a\0]\n",
    "merge": "<<: {categories: [a]}\n",
}


async def test_names_that_are_none_reach_nothing(tmp_path: Path) -> None:
    calls: list[inputs.Call] = []
    for name in _NAMES:
        calls += [
            *(("collection_add", {"name": name}), ("category_add", {"name": name})),
            *(("collection_remove", {"name": name}), ("category_remove", {"name": name})),
            *(("collection_change", {"name": name, "new_name": "x"}), ("collection_content", {"name": name})),
            ("collection_add", {"name": "fine", "categories": [name]}),
            ("collection_update", {"name": name, "add_categories": [name]}),
        ]
    await all_end(tmp_path, calls, _NOWHERE)


async def test_directories_and_patterns_stay_within_the_pages(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    async with attacker(world) as attacking:
        for directory in _DIRECTORIES:
            codes = frozenset({"FORBIDDEN", "INVALID_PATH", "INVALID_ARGUMENTS"})
            await attacking.attack("category_add", {"name": "x", "dir": directory}, codes)
        await attacking.attack("category_add", {"name": "all"}, frozenset({DONE}))
        await attacking.attack("collection_add", {"name": "c", "categories": ["all"]}, frozenset({DONE}))
        for pattern in _PATTERNS:
            change = {"name": "all", "patterns": [pattern]}
            await attacking.attack("category_change", change, frozenset({DONE, "INVALID_PATTERN"}))
            await attacking.attack("collection_content", {"name": "c"}, frozenset({DONE}))
        many = {"name": "all", "patterns": [f"*{number}" for number in range(101)]}
        await attacking.attack("category_change", many, frozenset({"INVALID_PATTERN"}))
        for cursor in inputs.CURSORS:
            ask = {"name": "c", "cursor": cursor}
            await attacking.attack("collection_content", ask, frozenset({"INVALID_CURSOR"}))


@pytest.mark.parametrize("broken", _BROKEN)
async def test_files_that_hold_anything_are_never_overwritten(tmp_path: Path, broken: str) -> None:
    world = world_in(tmp_path)
    file = world.root / ".records/collections/bad.yaml"
    file.parent.mkdir(parents=True)
    content = _BROKEN[broken].encode("latin-1")
    file.write_bytes(content)
    async with attacker(world) as attacking:
        unreadable = frozenset({"UNREADABLE", "CATEGORY_NOT_FOUND"} if broken != "tag" else {"UNREADABLE", DONE})
        for tool, arguments in (
            ("collection_update", {"name": "bad", "remove_categories": ["x"]}),
            ("collection_change", {"name": "bad", "description": "x"}),
            ("collection_remove", {"name": "bad"}),
        ):
            if broken != "tag":
                await attacking.attack(tool, arguments, unreadable)
        await attacking.attack("collection_list", {}, frozenset({DONE}))
        await attacking.attack("collection_content", {"name": "bad"}, unreadable)
    assert file.read_bytes() == content


async def test_records_that_are_links_are_neither_read_nor_written(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    records = world.root / ".records"
    (records / "categories").symlink_to(world.elsewhere)
    (records / "collections").mkdir()
    (records / "collections/link.yaml").symlink_to(world.elsewhere / "secret.txt")
    async with attacker(world) as attacking:
        for tool in ("collection_content", "collection_remove"):
            await attacking.attack(tool, {"name": "link"}, frozenset({"NOT_FOUND"}))
        await attacking.attack("collection_list", {}, frozenset({DONE}))
        refused = frozenset({"REFUSED", "WRITE_ERROR", "UNAVAILABLE"})
        await attacking.attack("category_add", {"name": "x"}, refused)
        await attacking.attack("category_list", {}, refused)
        await attacking.attack("collection_add", {"name": "link"}, frozenset({"CONFLICT", "REFUSED", "WRITE_ERROR"}))
    assert (records / "collections/link.yaml").is_symlink()
