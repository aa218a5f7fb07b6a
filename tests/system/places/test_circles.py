"""Moves on both sides that together would put a page below itself (docs/design/sync.md, L7)."""

import pytest

from tests.support.entries import change
from tests.support.mirrors import Mirror

FOLDERS = {"A/a.md": "a\n", "B/b.md": "b\n"}
PAGES = FOLDERS | {"A/_index.md": "A\n", "B/_index.md": "B\n"}
NOTES = FOLDERS | {"A.md": "A\n", "B.md": "B\n"}


@pytest.mark.parametrize("texts", [FOLDERS, PAGES, NOTES], ids=["folders", "pages", "folder-notes"])
async def test_of_two_folders_moved_into_each_other_the_rows_move_wins(mirror: Mirror, texts: dict[str, str]) -> None:
    mirror.write(texts)
    await mirror.settle()
    a, b, inner_a, inner_b = mirror.ids("A", "B", "A/a", "B/b")
    for path in ("A", "A.md"):
        if (mirror.root / path).exists():
            mirror.rename((path, f"B/{path}"))
    change(mirror.app, b, parent_id=a)
    await mirror.settle()
    assert mirror.ids("A", "A/B", "A/a", "A/B/b") == [a, b, inner_a, inner_b]
    assert sorted(mirror.files().values()) == sorted(texts.values())
    assert mirror.files().keys() == {f"A/{path}" if path[0] == "B" else path for path in texts}
    assert mirror.count_living() == len(mirror.rows()) == 4
    assert mirror.problems() == {}


async def test_a_circle_of_three_is_refused_too(mirror: Mirror) -> None:
    mirror.write({f"{name}/{name}.md": f"{name}\n" for name in ("One", "Two", "Three")})
    await mirror.settle()
    first, two, three = mirror.ids("One", "Two", "Three")
    mirror.rename(("One", "Two/One"))
    change(mirror.app, two, parent_id=three)
    change(mirror.app, three, parent_id=first)
    await mirror.settle()
    assert mirror.ids("One", "One/Three", "One/Three/Two") == [first, three, two]
    assert mirror.files().keys() == {"One/One.md", "One/Three/Three.md", "One/Three/Two/Two.md"}


async def test_a_folder_and_its_child_can_change_places(mirror: Mirror) -> None:
    mirror.write({"Out/In/deep.md": "deep\n", "Out/out.md": "out\n"})
    await mirror.settle()
    outer, inner = mirror.ids("Out", "Out/In")
    with mirror.app.transaction():
        change(mirror.app, inner, parent_id=None, name="Out")
        change(mirror.app, outer, parent_id=inner, name="In")
    await mirror.settle()
    assert mirror.files() == {"Out/deep.md": "deep\n", "Out/In/out.md": "out\n"}
    assert mirror.ids("Out", "Out/In") == [inner, outer]
    mirror.rename(("Out/In", "aside"), ("Out", "aside/In"), ("aside", "Out"))
    await mirror.settle()
    assert mirror.ids("Out", "Out/In") == [outer, inner]


@pytest.mark.parametrize("note", ["Out/_index.md", "Out.md"], ids=["index", "folder-note"])
async def test_the_pages_of_a_folder_and_of_one_far_below_can_change_places(mirror: Mirror, note: str) -> None:
    below = {"Out/Mid.md": "mid\n", "Out/Mid/Sub/in.md": "the page far below\n", "Out/other.md": "other\n"}
    mirror.write({note: "the page of the folder\n"} | below)
    await mirror.settle()
    paths = ["Out", "Out/Mid/Sub/in", "Out/Mid", "Out/other", "Out/Mid/Sub"]
    outer, inner, *others = mirror.ids(*paths)
    mirror.rename(("Out/Mid/Sub/in.md", "aside"), (note, "Out/Mid/Sub/in.md"), ("aside", note))
    await mirror.settle()
    assert mirror.ids(*paths) == [inner, outer, *others]
    assert mirror.rows()["Out/Mid/Sub/in"] == mirror.files()["Out/Mid/Sub/in.md"] == "the page of the folder\n"
    assert mirror.files().keys() == {note, *below}
    assert mirror.count_living() == len(mirror.rows()) == 5
    assert mirror.problems() == {}
