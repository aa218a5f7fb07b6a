"""Names that change hands: swaps, rotations and chains, in rows and in files (docs/design/sync.md, Places)."""

import shutil
from collections.abc import Mapping
from uuid import UUID

import pytest

from mirrord.domain.entry import EntryId
from mirrord.sync.writing.row_writes import BATCH_ENTRIES
from tests.support.entries import add_folder, change, value
from tests.support.mirrors import Mirror

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


def rewrite_by_script(mirror: Mirror, *paths: str) -> None:
    """As `sed -i` does: a new inode with a line more."""
    for path in paths:
        fresh = mirror.root / f"{path}.new"
        fresh.write_text((mirror.root / path).read_text() + "\nA line of a script.\n")
        fresh.replace(mirror.root / path)


def move_by_copying(mirror: Mirror, folder: str, target: str) -> None:
    """As file managers move across devices: `cp -r` and `rm -r`."""
    shutil.copytree(mirror.root / folder, mirror.root / target)
    shutil.rmtree(mirror.root / folder)


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
    versions = mirror.versions()
    rename_files(mirror, names)
    await mirror.settle()
    assert mirror.files() == renamed(texts, names)
    assert mirror.problems() == {}
    assert {old: mirror.page(names.get(old, old)).id for old in "abc"} == ids
    assert mirror.versions().keys() == versions.keys()
    for path, text in renamed(texts, names).items():
        assert mirror.page(path).markdown == text


async def test_names_change_hands_also_where_the_rows_are_seen_one_after_the_other(mirror: Mirror) -> None:
    mirror.write(LEAVES)
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "abc"}
    rename_rows(mirror, ids, ROTATIONS["rotation"])
    for page in ids.values():
        mirror.engine.queue.mark(entries=[EntryId(page)])
        await mirror.work()
    assert {code for _, code in mirror.problems()} == {"in-the-way"}
    await mirror.settle()
    assert mirror.files() == renamed(LEAVES, ROTATIONS["rotation"])
    assert mirror.problems() == {}


async def test_names_that_changed_hands_while_one_page_was_edited_too(mirror: Mirror) -> None:
    mirror.write(LEAVES)
    await mirror.settle()
    a, b = mirror.ids("a", "b")
    rename_files(mirror, ROTATIONS["swap"])
    mirror.write({"a.md": "B, edited\n"})
    await mirror.settle()
    assert mirror.ids("b", "a") == [a, b]
    assert mirror.rows() == {"a": "B, edited\n", "b": "A\n", "c": "C\n"}


async def test_names_change_hands_also_where_the_files_are_seen_one_after_the_other(mirror: Mirror) -> None:
    mirror.write(LEAVES)
    await mirror.settle()
    a, b = mirror.ids("a", "b")
    mirror.rename(("b.md", "Box/d.md"), ("a.md", "b.md"))
    mirror.engine.queue.mark(["a.md", "b.md"])
    await mirror.work()
    await mirror.settle()
    assert mirror.ids("b", "Box/d") == [a, b]
    assert mirror.files() == {"b.md": "A\n", "Box/d.md": "B\n", "c.md": "C\n"}


async def test_names_that_changed_hands_while_every_page_was_edited_too(mirror: Mirror) -> None:
    texts = {"a.md": "What the first page says.\n", "b.md": "What is said by the other.\n"}
    mirror.write(texts)
    await mirror.settle()
    a, b = mirror.ids("a", "b")
    mirror.rename(("a.md", "aside"), ("b.md", "a.md"), ("aside", "b.md"))
    edited = {"a.md": f"{texts['b.md']}More.\n", "b.md": f"{texts['a.md']}And more.\n"}
    mirror.write(edited)
    await mirror.settle()
    assert mirror.ids("b", "a") == [a, b]
    assert mirror.files() == edited


async def test_texts_that_were_copied_over_each_other_are_the_same_pages_under_new_names(mirror: Mirror) -> None:
    """As `git checkout` does: every file is a new one."""
    mirror.write(LEAVES)
    await mirror.settle()
    a, b = mirror.ids("a", "b")
    for path, text in (("a.md", "B\n"), ("b.md", "A\n")):
        (mirror.root / "new").write_text(text)
        mirror.rename(("new", path))
    await mirror.settle()
    assert mirror.ids("b", "a") == [a, b]
    assert mirror.files() == {"a.md": "B\n", "b.md": "A\n", "c.md": "C\n"}


@pytest.mark.parametrize("names", [{"a": "b", "b": "a"}, {"a": "c", "b": "a"}], ids=["swap", "shift"])
async def test_what_lies_in_a_directory_belongs_to_the_page_whose_file_is_beside_it_now(
    mirror: Mirror, names: dict[str, str]
) -> None:
    pages, inside = {"a.md": "A\n", "b.md": "B\n"}, {"a/One.md": "one\n", "b/Other.md": "other\n", "a/assets/x": "x\n"}
    mirror.write(pages | inside)
    await mirror.settle()
    a, b, *children = mirror.ids("a", "b", "a/One", "b/Other")
    mirror.rename(*((f"{old}.md", f"{old} aside") for old in names))
    mirror.rename(*((f"{old} aside", f"{new}.md") for old, new in names.items()))
    await mirror.settle()
    assert mirror.ids(*names.values()) == [a, b]
    assert mirror.files() == renamed(pages, names) | inside
    assert mirror.ids("a/One", "b/Other") == children
    assert value(mirror.app, "SELECT parent_id FROM mirrord.attachment") == b
    assert mirror.problems() == {}


async def test_a_file_that_its_directory_takes_along_before_it_is_known_whose_it_is_stays_known(mirror: Mirror) -> None:
    mirror.write({"a.md": "A\n", "b.md": "B\n", "b/x.md": "X\n"})
    await mirror.settle()
    a, b, x = ids = mirror.ids("a", "b", "b/x")
    mirror.rename(("b.md", "aside"), ("a.md", "b.md"), ("aside", "a.md"))
    mirror.rename(("b.md", "aside"), ("b/x.md", "b.md"), ("aside", "b/x.md"))
    change(mirror.app, x, parent_id=a)
    change(mirror.app, a, markdown="A, edited\n")
    await mirror.settle()
    texts = {a: "A, edited\n", b: "B\n", x: "X\n"}
    assert sorted(mirror.files().values()) == sorted(texts.values())
    assert {path.removesuffix(".md"): text for path, text in mirror.files().items()} == mirror.rows()
    assert {page: value(mirror.app, "SELECT markdown FROM mirrord.page WHERE id = %s", page) for page in ids} == texts


async def test_careful_saves_that_reuse_inodes_are_edits(mirror: Mirror) -> None:
    mirror.write(LEAVES)
    await mirror.settle()
    ids = mirror.ids("a", "b")
    inode, other = ((mirror.root / path).stat().st_ino for path in ("a.md", "b.md"))
    mirror.rename(("a.md", "aside"), ("b.md", "a.md"), ("aside", "b.md"))
    mirror.write({"a.md": "A, edited\n", "b.md": "B, edited\n"})
    assert [(mirror.root / path).stat().st_ino for path in ("a.md", "b.md")] == [other, inode]
    await mirror.settle()
    assert mirror.ids("a", "b") == ids
    assert mirror.rows() == {"a": "A, edited\n", "b": "B, edited\n", "c": "C\n"}


async def test_saves_of_one_text_that_reuse_inodes_from_look_to_look_are_edits(mirror: Mirror) -> None:
    """Each save frees an inode, which the next one gets: the bytes fit, for they are everywhere the same."""
    mirror.write(LEAVES)
    await mirror.settle()
    ids = mirror.ids("a", "b")
    mirror.rename(("a.md", "../first"))
    mirror.write({"a.md": "same\n"})
    await mirror.settle()
    mirror.rename(("b.md", "../second"), ("../first", "b.md"), ("../second", "New.md"))
    mirror.write({"b.md": "same\n", "New.md": "new\n"})
    await mirror.settle()
    assert mirror.ids("a", "b") == ids
    assert mirror.rows() == {"a": "same\n", "b": "same\n", "c": "C\n", "New": "new\n"}


async def test_a_file_renamed_over_another_replaces_its_text(mirror: Mirror) -> None:
    mirror.write(LEAVES)
    await mirror.settle()
    _, b, _ = mirror.ids("a", "b", "c")
    mirror.rename(("a.md", "b.md"))
    await mirror.settle()
    assert mirror.ids("b") == [b]
    assert mirror.rows() == {"b": "A\n", "c": "C\n"}


async def test_of_two_files_that_changed_places_one_goes_on_to_where_its_row_is_by_now(mirror: Mirror) -> None:
    mirror.write({"Box/Note.md": "the note of the box\n", "Other/Memo.md": "another memo\n"})
    await mirror.settle()
    note, memo = mirror.ids("Box/Note", "Other/Memo")
    change(mirror.app, note, parent_id=add_folder(mirror.app, name="Shelf"))
    mirror.rename(("Box/Note.md", "aside"), ("Other/Memo.md", "Box/Note.md"), ("aside", "Other/Memo.md"))
    mirror.engine.queue.mark(["Box/Note.md", "Other/Memo.md"])
    await mirror.work()  # before the folder is heard of: the note waits for it, and the memo has its old path
    mirror.engine.notify()
    await mirror.work()
    await mirror.settle()
    assert mirror.ids("Shelf/Note", "Box/Note") == [note, memo]
    assert mirror.files() == {"Shelf/Note.md": "the note of the box\n", "Box/Note.md": "another memo\n"}
    assert mirror.problems() == {}


WORDS = {name: f"# {name}\n\nOnly {name} says that {name} {name} {name} grows in spring.\n" for name in "abc"}


@pytest.mark.parametrize("names", [ROTATIONS["swap"], ROTATIONS["rotation"]], ids=["swap", "rotation"])
async def test_files_that_changed_places_and_were_then_rewritten_by_a_script_stay_their_pages(
    mirror: Mirror, names: dict[str, str]
) -> None:
    """`sed -i` leaves neither inodes nor bytes; the texts still say whose they are."""
    mirror.write({f"{name}.md": text for name, text in WORDS.items()})
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in WORDS}
    rename_files(mirror, names)
    rewrite_by_script(mirror, *(f"{name}.md" for name in WORDS))
    await mirror.settle()
    assert {old: mirror.page(names.get(old, old)).id for old in WORDS} == ids
    assert {name: "A line of a script." in text for name, text in mirror.files().items()} == dict.fromkeys(
        [f"{name}.md" for name in WORDS], True
    )


async def test_a_swapped_page_that_was_edited_and_moved_by_copying_is_known_by_its_text_although_an_app_moved_the_other(
    mirror: Mirror,
) -> None:
    """Of the page that was edited and copied, only its text says where it is."""
    mirror.write({"Box/a.md": WORDS["a"], "Shelf/b.md": WORDS["b"]})
    await mirror.settle()
    a, b = mirror.ids("Box/a", "Shelf/b")
    change(mirror.app, b, parent_id=add_folder(mirror.app, name="Crate"))
    mirror.rename(("Box/a.md", "aside"), ("Shelf/b.md", "Box/a.md"), ("aside", "Shelf/b.md"))
    mirror.write({"Shelf/b.md": f"{WORDS['a']}\nAn edit.\n"})
    move_by_copying(mirror, "Shelf", "Twin")
    await mirror.settle()
    assert mirror.page("Twin/b").id == a
    assert mirror.files() == {"Twin/b.md": f"{WORDS['a']}\nAn edit.\n", "Crate/b.md": WORDS["b"]}
    assert mirror.page("Crate/b").id == b
    assert mirror.problems() == {}


async def test_swapped_pages_stay_what_they_are_although_a_script_rewrote_both_and_one_was_moved_by_copying(
    mirror: Mirror,
) -> None:
    mirror.write({"Box/a.md": WORDS["a"], "Shelf/b.md": WORDS["b"]})
    await mirror.settle()
    ids = mirror.ids("Box/a", "Shelf/b")
    mirror.rename(("Box/a.md", "aside"), ("Shelf/b.md", "Box/a.md"), ("aside", "Shelf/b.md"))
    rewrite_by_script(mirror, "Box/a.md", "Shelf/b.md")
    move_by_copying(mirror, "Shelf", "Twin")
    await mirror.settle()
    assert mirror.ids("Twin/b", "Box/a") == ids


async def test_a_page_that_got_another_pages_text_beside_a_new_page_stays_what_it_is(mirror: Mirror) -> None:
    """A save may take the text of a page that goes; nothing else changed hands."""
    mirror.write({"a.md": WORDS["a"], "b.md": WORDS["b"]})
    await mirror.settle()
    a, _ = mirror.ids("a", "b")
    mirror.rename(("b.md", "a.md"))
    mirror.write({"New.md": WORDS["c"]})
    await mirror.settle()
    assert mirror.ids("a") == [a]
    assert mirror.rows() == {"a": WORDS["b"], "New": WORDS["c"]}


async def test_pages_of_one_template_do_not_change_places_when_a_script_rewrites_them(mirror: Mirror) -> None:
    template = "# Day\n\nWhat was good today, and what was not?\n\nWho was there?\n"
    mirror.write({f"{name}.md": template for name in "abc"})
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "abc"}
    for name in "abc":
        fresh = mirror.root / f"{name}.new"
        fresh.write_text(template + f"\nA line of {name}.\n")
        fresh.replace(mirror.root / f"{name}.md")
    await mirror.settle()
    assert {name: mirror.page(name).id for name in "abc"} == ids


@shapes
@rotations
@pytest.mark.parametrize("held_name", "ab")
async def test_names_that_change_hands_in_files_while_an_app_holds_one_of_the_rows(
    mirror: Mirror, texts: dict[str, str], names: dict[str, str], held_name: str
) -> None:
    mirror.write(texts)
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "abc"}
    living = mirror.count_living()
    with mirror.app.transaction():
        mirror.app.execute("SELECT FROM mirrord.page WHERE name = %s FOR UPDATE", [held_name])
        rename_files(mirror, names)
        mirror.engine.request_scan()
        for _ in range(3):
            await mirror.work()
    await mirror.settle()
    assert mirror.files() == renamed(texts, names)
    assert mirror.problems() == {}
    assert {old: mirror.page(names.get(old, old)).id for old in "abc"} == ids
    assert mirror.count_living() == living


@shapes
@pytest.mark.parametrize("marked_name", "ab")
@pytest.mark.parametrize("held_name", "ab")
async def test_names_that_changed_hands_stay_together_although_one_of_them_is_looked_at_by_itself(
    mirror: Mirror, texts: dict[str, str], held_name: str, marked_name: str
) -> None:
    """The retries of a pass that met a locked row may come due one after the other."""
    mirror.write(texts)
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "abc"}
    versions = mirror.versions()
    path_of = {
        name: next((path for path in texts if path in (f"{name}.md", f"{name}/_index.md")), name) for name in "ab"
    }
    with mirror.app.transaction():
        mirror.app.execute("SELECT FROM mirrord.page WHERE name = %s FOR UPDATE", [held_name])
        rename_files(mirror, ROTATIONS["swap"])
        mirror.engine.request_scan()
        await mirror.work()
        mirror.engine.queue.mark([path_of[marked_name]], [EntryId(ids[ROTATIONS["swap"][marked_name]])], forced=True)
        await mirror.work()
    await mirror.settle()
    assert mirror.files() == renamed(texts, ROTATIONS["swap"])
    assert mirror.problems() == {}
    assert {old: mirror.page(new).id for old, new in ROTATIONS["swap"].items()} == {name: ids[name] for name in "ab"}
    assert mirror.versions() == {
        entry: version + (entry in (ids["a"], ids["b"])) for entry, version in versions.items()
    }


@pytest.mark.parametrize("texts", [FOLDERS, PARENTS, NOTES], ids=["folders", "pages-with-children", "folder-notes"])
@pytest.mark.parametrize("held_name", "ab")
async def test_pages_in_folders_that_changed_names_stay_in_them_although_one_is_looked_at_by_itself(
    mirror: Mirror, texts: dict[str, str], held_name: str
) -> None:
    mirror.write(texts)
    await mirror.settle()
    children = ["a/x", "a/y", "b/x", "b/y"]
    ids, versions = mirror.ids(*children), mirror.versions()
    with mirror.app.transaction():
        mirror.app.execute("SELECT FROM mirrord.page WHERE name = %s FOR UPDATE", [held_name])
        rename_files(mirror, ROTATIONS["swap"])
        mirror.engine.request_scan()
        await mirror.work()
        mirror.engine.queue.mark(["b/x.md"], [EntryId(ids[0])], forced=True)
        await mirror.work()
    await mirror.settle()
    assert mirror.files() == renamed(texts, ROTATIONS["swap"])
    assert mirror.ids("b/x", "b/y", "a/x", "a/y") == ids
    assert {version - versions[page] for page, version in mirror.versions().items() if page in ids} == {0}


async def test_large_folders_swap_names_while_an_app_holds_one_of_their_rows(mirror: Mirror) -> None:
    pages = BATCH_ENTRIES + 10  # more than one transaction
    texts = {f"{name}/{number:03}.md": f"{name}{number}\n" for name in "ab" for number in range(pages)}
    mirror.write(texts)
    await mirror.settle()
    ids = {name: mirror.page(name).id for name in "ab"}
    children = mirror.ids(*texts)
    swapped = {"a": "b", "b": "a"}
    with mirror.app.transaction():
        mirror.app.execute("SELECT FROM mirrord.page WHERE name = 'a' FOR UPDATE")
        rename_files(mirror, swapped)
        mirror.engine.request_scan()
        for _ in range(3):
            await mirror.work()
    await mirror.settle()
    assert mirror.files() == renamed(texts, swapped)
    assert {old: mirror.page(new).id for old, new in swapped.items()} == ids
    assert mirror.ids(*renamed(dict.fromkeys(texts, ""), swapped)) == children
