"""Names that change hands: swaps, rotations and chains, in rows and in files (SYNC 1.3, catalogue 56)."""

from collections.abc import Mapping
from uuid import UUID

import pytest

from tests.system.entries import change
from tests.system.mirrors import Mirror

LEAVES = {"a.md": "A\n", "b.md": "B\n", "c.md": "C\n"}
FOLDERS = {f"{name}/{child}.md": f"{name}{child}\n" for name in "abc" for child in "xy"}
PARENTS = FOLDERS | {f"{name}/_index.md": f"{name}\n" for name in "abc"}
NOTES = FOLDERS | {f"{name}.md": f"{name}\n" for name in "abc"}
SHAPES = {"leaves": LEAVES, "folders": FOLDERS, "pages-with-children": PARENTS, "folder-notes": NOTES}
ROTATIONS = {
    "swap": {"a": "b", "b": "a"},
    "rotation": {"a": "b", "b": "c", "c": "a"},
    "chain": {"a": "b", "b": "c", "c": "d"},
}

shapes = pytest.mark.parametrize("texts", SHAPES.values(), ids=SHAPES)
rotations = pytest.mark.parametrize("names", ROTATIONS.values(), ids=ROTATIONS)


def renamed(texts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The tree after its top names changed."""
    return {names.get(path[0], path[0]) + path[1:]: text for path, text in texts.items()}


def rename_rows(mirror: Mirror, ids: Mapping[str, UUID], names: Mapping[str, str]) -> None:
    """In one transaction, as an app that knows what it wants."""
    with mirror.app.transaction():
        for old, new in names.items():
            change(mirror.app, ids[old], name=new)


def rename_files(mirror: Mirror, names: Mapping[str, str]) -> None:
    """Files and directories of every name, through other names, as a person has to."""
    for ending in (".md", ""):
        present = {old: new for old, new in names.items() if (mirror.root / f"{old}{ending}").exists()}
        mirror.rename(*((f"{old}{ending}", f"{old} aside") for old in present))
        mirror.rename(*((f"{old} aside", f"{new}{ending}") for old, new in present.items()))


@shapes
@rotations
async def test_names_that_change_hands_in_rows_change_hands_in_the_tree(
    mirror: Mirror, texts: dict[str, str], names: dict[str, str]
) -> None:
    mirror.write(texts)
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "abc"}
    children = mirror.ids(*(path for path in texts if path in FOLDERS))
    rename_rows(mirror, ids, names)
    await mirror.settle()
    assert mirror.files() == renamed(texts, names)
    assert mirror.problems() == {}
    assert {old: mirror.page(names.get(old, old)).id for old in "abc"} == ids
    assert mirror.ids(*renamed({path: "" for path in texts if path in FOLDERS}, names)) == children
    assert not list((mirror.root / ".mirrord" / "tmp").rglob("*.path"))


@shapes
@rotations
async def test_names_that_change_hands_in_files_change_hands_in_rows(
    mirror: Mirror, texts: dict[str, str], names: dict[str, str]
) -> None:
    mirror.write(texts)
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "abc"}
    known = mirror.versions()
    rename_files(mirror, names)
    await mirror.settle()
    assert mirror.files() == renamed(texts, names)
    assert mirror.problems() == {}
    assert {old: mirror.page(names.get(old, old)).id for old in "abc"} == ids
    assert mirror.versions().keys() == known.keys()
    for path, text in renamed(texts, names).items():
        assert mirror.page(path).markdown == text
