"""Collections and categories as agents change them."""

import fcntl
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.entry import Actor, digest_of
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.tree_locks import records_lock
from mirrord.research.collections.collection_content import collection_content, list_records
from mirrord.research.collections.collection_rules import CATEGORIES, COLLECTIONS
from mirrord.research.collections.collection_yaml import read_group
from mirrord.research.collections.group_commands import (
    add_category,
    add_collection,
    change_category,
    change_collection,
    remove_category,
    remove_collection,
    update_category,
    update_collection,
)
from tests.unit.commands.conftest import AGENT, TENANT, events, page
from tests.unit.kills import killed_at

READING = ".records/collections/reading.yaml"
NOVELS = ".records/categories/novels.yaml"
list_categories = partial(list_records, kind=CATEGORIES)
list_collections = partial(list_records, kind=COLLECTIONS)


@contextmanager
def refused(code: str, kind: str, words: str = ".") -> Iterator[None]:
    with pytest.raises(Failed, match=words) as caught:
        yield
    assert (caught.value.code, caught.value.kind) == (code, kind)
    assert caught.value.instruction


def prepared(session: Session) -> None:
    for name in ("novels", "essays", "poems"):
        add_category(session, name, "Books", [f"{name}/"])
    add_collection(session, "reading", "what I read", ["novels", "essays"])


def collections(session: Session) -> list[object]:
    return [collection["name"] for collection in list_collections(session).values]


def test_a_collection_is_added_to_disk_with_its_event(root: Path, session: Session) -> None:
    add_category(session, "novels", "Books", ["novels/"])
    added = add_collection(session, "reading", "what I read", ["novels"])

    assert added.value == {"name": "reading", "categories": ["novels"], "description": "what I read"}
    text = (root / READING).read_text()
    assert text.startswith("categories:\n  - novels\ndescription: what I read\ncreated: ")
    kind, data = events(root)[-1]
    assert kind == "CollectionAdded"
    assert data == {
        **added.value,
        "path": READING,
        "record_id": data["record_id"],
        "digest": digest_of(text.encode()).hex(),
    }


def test_lists_show_the_oldest_first_and_a_new_name_keeps_its_position(root: Path, session: Session) -> None:
    for name in ("zoo", "Middle", "alpha"):
        add_collection(session, name)
    page(root, ".records/collections/by-hand.yaml", "categories: []\n")
    assert collections(session) == ["zoo", "Middle", "alpha", "by-hand"]

    change_collection(session, "zoo", new_name="aaa")
    change_collection(session, "middle", new_name="MIDDLE")
    assert collections(session) == ["aaa", "MIDDLE", "alpha", "by-hand"]
    assert sorted(file.name for file in (root / ".records/collections").iterdir()) == [
        *("MIDDLE.yaml", "aaa.yaml", "alpha.yaml", "by-hand.yaml")
    ]
    described = list_collections(session, verbose=True).values[0]
    assert described["path"] == ".records/collections/aaa.yaml"
    assert str(described["created"])[:3] == "202"


def test_names_are_one_without_case(session: Session) -> None:
    prepared(session)
    with refused("ALREADY_EXISTS", "already_exists", "'reading'"):
        add_collection(session, "READING")
    with refused("ALREADY_EXISTS", "already_exists"):
        add_category(session, "Novels")
    assert update_collection(session, "Reading", ["POEMS"]).value["categories"] == ["novels", "essays", "poems"]


@pytest.mark.parametrize("name", ["", "a" * 31, "-a", "a-", "_a", "a_", "a b", "a/b", "../x", "ü", "a.b", "a\n", "a'"])
def test_names_that_are_none_are_refused(root: Path, session: Session, name: str) -> None:
    with refused("INVALID_NAME", "invalid_name"):
        add_collection(session, name)
    with refused("INVALID_NAME", "invalid_name"):
        add_category(session, name)
    add_collection(session, "x")
    with refused("INVALID_NAME", "invalid_name"):
        change_collection(session, "x", new_name=name)
    assert len(events(root)) == 1


@pytest.mark.parametrize("name", ["a", "1", "a" * 30, "A-b_c", "2024", "true", "null", "1e5"])
def test_other_names_are_taken_and_read_back(session: Session, name: str) -> None:
    add_category(session, name, "Books")
    add_collection(session, name, categories=[name])
    assert list_collections(session).values == [{"name": name, "categories": [name], "description": None}]


@pytest.mark.parametrize(
    ("description", "code"),
    [
        ("x" * 501, "DESCRIPTION_TOO_LONG"),
        ("it's", "INVALID_CHARACTERS"),
        ('a "b"', "INVALID_CHARACTERS"),
        ("a\0", "INVALID_CHARACTERS"),
        ("a\x1b[1m", "INVALID_CHARACTERS"),
        ("\ud800", "INVALID_CHARACTERS"),
    ],
)
def test_descriptions_that_are_none_are_refused_everywhere(session: Session, description: str, code: str) -> None:
    prepared(session)
    with refused(code, code.lower()):
        add_collection(session, "x", description)
    with refused(code, code.lower()):
        change_collection(session, "reading", description=description)
    with refused(code, code.lower()):
        add_category(session, "x", description=description)
    with refused(code, code.lower()):
        change_category(session, "novels", description=description)


def test_a_description_of_500_characters_in_any_script_is_kept_and_an_empty_one_clears_it(session: Session) -> None:
    description = "Größe, 日本語: #no comment\n" + "x" * 472
    assert len(description) <= 500
    add_collection(session, "x", description)
    assert list_collections(session).values[0]["description"] == description
    assert change_collection(session, "x", description="").value["description"] is None
    assert add_collection(session, "y", "").value["description"] is None


def test_all_missing_categories_are_named(root: Path, session: Session) -> None:
    prepared(session)
    before = (root / READING).read_bytes()
    acts: list[Callable[[list[str]], object]] = [
        lambda names: add_collection(session, "x", categories=names),
        lambda names: change_collection(session, "reading", categories=names),
        lambda names: update_collection(session, "reading", add_categories=names),
    ]
    for act in acts:
        with refused("CATEGORY_NOT_FOUND", "category_not_found", "'novel', 'nothing'") as _:
            act(["novel", "essays", "nothing"])
    with pytest.raises(Failed) as caught:
        add_collection(session, "x", categories=["novel", "nothing"])
    assert caught.value.facts == {"missing": ["novel", "nothing"]}
    assert "Did you mean novels?" in caught.value.instruction
    assert (root / READING).read_bytes() == before
    assert collections(session) == ["reading"]


def test_what_is_not_there_is_not_found_by_any_verb(session: Session) -> None:
    prepared(session)
    acts: list[Callable[[], object]] = [
        lambda: remove_collection(session, "readin"),
        lambda: change_collection(session, "readin", description="x"),
        lambda: update_collection(session, "readin", ["novels"]),
        lambda: collection_content(session, "readin"),
        lambda: remove_collection.preview(session, name="readin"),
    ]
    for act in acts:
        with pytest.raises(Failed) as caught:
            act()
        assert (caught.value.code, caught.value.kind) == ("NOT_FOUND", "not_found")
        assert "Did you mean reading?" in caught.value.instruction
    with refused("NOT_FOUND", "not_found"):
        remove_category(session, "../../x")


def test_change_replaces_and_keeps_what_is_not_given(root: Path, session: Session) -> None:
    prepared(session)
    changed = change_collection(session, "reading", categories=["poems", "POEMS", "novels"])
    assert changed.value == {"name": "reading", "categories": ["poems", "novels"], "description": "what I read"}
    changed = change_collection(session, "reading", new_name="books", categories=[], description="")
    assert changed.value == {"name": "books", "categories": [], "description": None}
    kind, data = events(root)[-1]
    assert (kind, data["old_name"], data["path"]) == ("CollectionChanged", "reading", ".records/collections/books.yaml")
    assert not (root / READING).exists()
    with refused("INVALID_ARGUMENTS", "invalid"):
        change_collection(session, "books")
    add_collection(session, "other")
    with refused("NAME_CONFLICT", "name_conflict"):
        change_collection(session, "books", new_name="OTHER")
    assert change_collection(session, "books", new_name="books").message is not None


def test_update_takes_out_first_then_puts_in_and_does_not_mind_what_is_absent(root: Path, session: Session) -> None:
    prepared(session)
    before = len(events(root))
    updated = update_collection(session, "reading", ["poems", "novels"], ["novels", "absent"])
    assert updated.value["categories"] == ["essays", "poems", "novels"]
    assert update_collection(session, "reading", None, ["ESSAYS"]).value["categories"] == ["poems", "novels"]
    again = update_collection(session, "reading", ["poems"], [])
    assert again.message == "Nothing was changed: it says that already."
    assert [kind for kind, _ in events(root)[before:]] == ["CollectionUpdated", "CollectionUpdated"]
    with refused("INVALID_ARGUMENTS", "invalid"):
        update_collection(session, "reading")


def test_a_removed_collection_is_in_the_trash_and_its_categories_stay(root: Path, session: Session) -> None:
    prepared(session)
    text = (root / READING).read_bytes()
    assert remove_collection(session, "reading").value["name"] == "reading"
    kind, data = events(root)[-1]
    assert (kind, data["categories"]) == ("CollectionRemoved", ["novels", "essays"])
    (trashed,) = (root / ".mirrord/trash").glob(f"*.{data['trash_id']}")
    assert trashed.read_bytes() == text
    assert len(list_categories(session).values) == 3
    with refused("NOT_FOUND", "not_found"):
        remove_collection(session, "reading")
    add_collection(session, "reading")


def test_a_category_that_goes_or_is_renamed_is_followed_by_the_collections_that_use_it(
    root: Path, session: Session
) -> None:
    prepared(session)
    page(root, ".records/collections/mine.yaml", "# mine\ncategories:\n  - poems   # first\n  - Novels\nkey: kept\n")
    begin = len(events(root))

    changed = change_category(session, "novels", new_name="fiction")
    assert changed.message == "Collections that follow: reading, mine."
    mine = (root / ".records/collections/mine.yaml").read_text()
    assert mine == "# mine\ncategories:\n  - poems   # first\n  - fiction\nkey: kept\n"
    assert read_group(COLLECTIONS, "reading", (root / READING).read_text()).members == ("fiction", "essays")

    remove_category(session, "poems")
    mine = (root / ".records/collections/mine.yaml").read_text()
    assert mine == "# mine\ncategories:\n  - fiction\nkey: kept\n"
    assert [(kind, data["name"], data.get("category")) for kind, data in events(root)[begin:]] == [
        ("CategoryChanged", "fiction", None),
        ("CollectionUpdated", "reading", "novels"),
        ("CollectionUpdated", "mine", "novels"),
        ("CategoryRemoved", "poems", None),
        ("CollectionUpdated", "mine", "poems"),
    ]


def test_a_category_renamed_to_one_that_a_collection_names_already_stands_in_it_once(
    root: Path, session: Session
) -> None:
    add_category(session, "old")
    page(root, ".records/collections/mine.yaml", "categories: [new, old]\n")
    change_category(session, "old", new_name="new")
    assert (root / ".records/collections/mine.yaml").read_text() == "categories: [new]\n"


def test_categories_are_changed_and_updated(root: Path, session: Session) -> None:
    (root / "Books").mkdir()
    added = add_category(session, "novels", "books/", ["*.md", "*.md", "!drafts/"], "all of them")
    value = {"name": "novels", "dir": "Books", "patterns": ["*.md", "!drafts/"], "description": "all of them"}
    assert (added.value, added.message) == (value, None)
    changed = change_category(session, "novels", dir="Later", patterns=["a/**"], description="")
    assert changed.value == {"name": "novels", "dir": "Later", "patterns": ["a/**"], "description": None}
    updated = update_category(session, "novels", ["b/**", "a/**"], ["a/**", "zzz"])
    assert updated.value["patterns"] == ["b/**", "a/**"]
    assert change_category(session, "novels", dir="").value["dir"] == ""
    assert [kind for kind, _ in events(root)] == [
        *("CategoryAdded", "CategoryChanged", "CategoryUpdated", "CategoryChanged")
    ]
    assert add_category(session, "x", "Nowhere").message == (
        "There is no folder 'Nowhere' yet, so no page belongs to it."
    )


@pytest.mark.parametrize("directory", ["../other", "/etc", ".records", "a/.mirrord", "a\0", "assets"])
def test_a_category_stays_within_the_pages_of_the_tenant(session: Session, directory: str) -> None:
    with pytest.raises(Failed) as caught:
        add_category(session, "x", directory)
    assert caught.value.code in ("FORBIDDEN", "INVALID_PATH")
    with refused("INVALID_PATTERN", "invalid"):
        add_category(session, "x", "Books", ["a/../../b"])
    assert list_categories(session).values == []


def test_hand_written_comments_order_and_spelling_stay(root: Path, session: Session) -> None:
    text = "# What I read\ndir: Books  # since school\nmine: 1\npatterns:\n  # best\n  - novels/**\n  - essays/**\n"
    page(root, NOVELS, text)
    update_category(session, "novels", ["poems/**"], ["essays/**"])
    assert (root / NOVELS).read_text() == text.replace("essays", "poems")
    change_category(session, "novels", description="said")
    assert (root / NOVELS).read_text() == text.replace("essays", "poems") + "description: said\n"


@pytest.mark.parametrize(
    "broken", ["categories: [a\n", "categories: 1.5\n", "- a\n", "a: 1\n b: 2\n", "categories: *x\n"]
)
def test_a_broken_hand_edit_is_an_error_that_names_the_line_and_is_never_overwritten(
    root: Path, session: Session, broken: str
) -> None:
    prepared(session)
    text = f"# mine\n{broken}"
    page(root, READING, text)
    acts: list[Callable[[], object]] = [
        lambda: update_collection(session, "reading", ["poems"]),
        lambda: change_collection(session, "reading", new_name="x"),
        lambda: remove_collection(session, "reading"),
        lambda: remove_category(session, "poems"),
        lambda: change_category(session, "poems", new_name="verse"),
        lambda: collection_content(session, "reading"),
    ]
    for act in acts:
        with refused("UNREADABLE", "write_error", r"reading.yaml, line [23]"):
            act()
    with refused("ALREADY_EXISTS", "already_exists"):
        add_collection(session, "reading")
    assert (root / READING).read_text() == text
    (problem,) = list_collections(session).problems
    assert "line" in problem
    assert (root / ".records/categories/poems.yaml").exists()


def test_a_collection_means_the_pages_of_its_categories_in_order_each_once(root: Path, session: Session) -> None:
    for path in ("Books/_index.md", "Books/novels/B.md", "Books/novels/A.md", "Books/novels/A/Part.md", "Books/Z.md"):
        page(root, path, "text")
    page(root, "Books/essays/C.md", "---\nposition: a\n---\n")
    page(root, "Other.md", "text")
    page(root, "Books/assets/x.png", "picture")
    add_category(session, "novels", "Books", ["novels/"])
    add_category(session, "all", "Books")
    add_category(session, "root", "", ["Other"])
    add_collection(session, "reading", categories=["novels", "all", "root"])
    content = collection_content(session, "READING")
    assert [(page.path, page.category) for page in content.pages] == [
        ("Books/novels/A.md", "novels"),
        ("Books/novels/A/Part.md", "novels"),
        ("Books/novels/B.md", "novels"),
        ("Books/_index.md", "all"),
        ("Books/essays/C.md", "all"),
        ("Books/Z.md", "all"),
        ("Other.md", "root"),
    ]
    assert (content.total, content.problems, content.next_cursor) == (7, [], None)
    change_collection(session, "reading", categories=["root", "all"])
    assert [page.path for page in collection_content(session, "reading").pages][:2] == ["Other.md", "Books/_index.md"]


def test_the_content_of_a_long_collection_goes_on_with_a_cursor(root: Path, session: Session) -> None:
    for number in range(230):
        page(root, f"Books/{number:03}.md", "text")
    add_category(session, "books", "Books")
    add_collection(session, "reading", categories=["books"])
    paths, cursor = list[str](), None
    while not paths or cursor is not None:
        answer = collection_content(session, "reading", cursor)
        assert len(answer.pages) < 100  # 8 KB
        paths += [page.path for page in answer.pages]
        cursor = answer.next_cursor
    assert paths == [f"Books/{number:03}.md" for number in range(230)]
    assert cursor is None
    with refused("INVALID_CURSOR", "invalid"):
        collection_content(session, "reading", "nonsense")


def test_long_lists_go_on_with_a_cursor(root: Path, session: Session) -> None:
    for number in range(130):
        page(root, f".records/collections/{number:03}.yaml", "" if number < 120 else "- broken\n")
    first = list_collections(session)
    second = list_collections(session, cursor=first.next_cursor)
    names = [collection["name"] for collection in first.values + second.values]
    assert names == [f"{number:03}" for number in range(120)]
    assert second.next_cursor is None
    assert len(list_collections(session, limit=None).values) == 120
    assert len(first.problems) == 10
    with refused("INVALID_CURSOR", "invalid"):
        list_categories(session, cursor=first.next_cursor)


def test_what_a_collection_names_in_vain_is_told_and_the_rest_is_shown(root: Path, session: Session) -> None:
    page(root, "Books/A.md", "text")
    page(root, ".records/collections/mine.yaml", "categories: [gone, books, far, broken, outside]\n")
    page(root, ".records/categories/broken.yaml", "dir: [\n")
    page(root, ".records/categories/outside.yaml", "dir: ../rival\n")
    add_category(session, "books", "Books")
    add_category(session, "far", "Nowhere")
    content = collection_content(session, "mine")
    assert [page.path for page in content.pages] == ["Books/A.md"]
    words = ["'gone'", "'Nowhere'", "broken.yaml", "outside"]
    assert all(word in problem for word, problem in zip(words, content.problems, strict=True))


def test_a_lock_that_is_not_given_back_is_a_lock_error_after_two_seconds(root: Path, session: Session) -> None:
    add_collection(session, "x")
    other = Tree(root)
    with records_lock(other):
        begin = time.monotonic()
        with refused("BUSY", "lock_error"):
            add_collection(session, "y")
        assert time.monotonic() - begin > 1.9
    other.close()
    assert collections(session) == ["x"]
    assert len(events(root)) == 1


def test_a_file_that_somebody_is_writing_is_a_lock_error(root: Path, session: Session) -> None:
    prepared(session)
    descriptor = os.open(root / READING, os.O_WRONLY)
    for act in (partial(update_collection, session, "reading", ["poems"]), partial(remove_category, session, "novels")):
        with refused("BUSY", "lock_error", "open for writing"):
            act()
    os.close(descriptor)
    assert update_collection(session, "reading", ["poems"]).value["categories"] == ["novels", "essays", "poems"]


def test_what_cannot_be_written_is_a_write_error(root: Path, session: Session) -> None:
    (root / ".records").mkdir()
    (root / ".records/collections").write_text("in the way")
    with pytest.raises(Failed) as caught:
        add_collection(session, "x")
    assert caught.value.kind == "write_error"
    (root / ".records/categories").symlink_to(root.parent)
    with pytest.raises(Failed) as caught:
        add_category(session, "x")
    assert caught.value.kind == "write_error"
    assert not (root.parent / "x.yaml").exists()


def test_a_preview_says_what_would_be_done_and_does_nothing(root: Path, session: Session) -> None:
    prepared(session)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    renamed = change_category.preview(session, name="novels", new_name="fiction")
    assert "+  - fiction" in renamed.lines
    assert renamed.bases[NOVELS] == digest_of((root / NOVELS).read_bytes()).hex()
    assert renamed.bases[READING] == digest_of((root / READING).read_bytes()).hex()
    assert renamed.bases[".records/categories/fiction.yaml"] == ""
    assert renamed.facts == {"also_changed": ["reading"]}
    assert "-dir: Books" in remove_category.preview(session, name="novels").lines
    assert "+  - poems" in add_collection.preview(session, name="x", categories=["poems"]).lines
    with refused("ALREADY_EXISTS", "already_exists"):
        add_collection.preview(session, name="reading")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_the_commands_are_in_the_registry_and_take_what_their_previews_take(session: Session) -> None:
    add_category(session, "novels")
    name = COMMANDS["collection_add"]
    arguments = {"name": "x", "description": None, "categories": ["novels"]}
    assert name.preview(session, **arguments).summary == "The collection x would be made."
    assert name(session, **arguments).value["categories"] == ["novels"]
    verbs = {f"{kind}_{verb}" for kind in ("collection", "category") for verb in ("add", "remove", "change", "update")}
    assert verbs <= COMMANDS.keys()


PROCESSES, EACH = 4, 4


def _adds(root: str, number: int) -> None:
    """Adds collections of its own, and its own categories to one of all."""
    prepare_process()
    session = Session(Tree(Path(root)), "acme", TENANT, Actor("agent", f"agent-{number}"), f"process-{number}")
    for step in range(EACH):
        name = f"own-{number}-{step}"
        _until_done(partial(add_category, session, name, "Books"))
        _until_done(partial(update_collection, session, "shared", [name]))
        _until_done(partial(add_collection, session, name, categories=[name]))
    session.close()


def _until_done(act: Callable[[], object]) -> None:
    """A lock that is not free for two seconds is no loss; whoever is told so asks again."""
    for _ in range(20):
        try:
            act()
        except Failed as failed:
            if failed.code != "BUSY":
                raise
        else:
            return
    raise AssertionError("the lock was never free")


def test_processes_that_change_collections_at_once_lose_nothing(root: Path, session: Session) -> None:
    add_collection(session, "shared")
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_adds, args=(str(root), number)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * PROCESSES

    own_names = {f"own-{number}-{step}" for number in range(PROCESSES) for step in range(EACH)}
    shared = read_group(COLLECTIONS, "shared", (root / ".records/collections/shared.yaml").read_text())
    assert set(shared.members) == own_names
    assert set(collections(session)) == own_names | {"shared"}
    kinds = [kind for kind, _ in events(root)]
    assert kinds.count("CollectionAdded") == len(own_names) + 1
    assert kinds.count("CategoryAdded") == kinds.count("CollectionUpdated") == len(own_names)


def _state(root: Path) -> tuple[frozenset[str], frozenset[tuple[str, ...]]]:
    """The categories there are, and what collections name; every file is whole."""
    categories = {
        path.stem for path in (root / ".records/categories").glob("*") if read_group(CATEGORIES, "x", path.read_text())
    }
    files = (root / ".records/collections").glob("*")
    return frozenset(categories), frozenset(read_group(COLLECTIONS, "x", path.read_text()).members for path in files)


def _opened(root: Path, writer: str) -> Session:
    return Session(Tree(root), "acme", TENANT, AGENT, writer)


def _remove(root: Path) -> None:
    remove_category(_opened(root, "killed"), "novels")


def _rename(root: Path) -> None:
    change_category(_opened(root, "killed"), "novels", new_name="fiction", description="other")


@pytest.mark.parametrize("act", [_remove, _rename])
def test_a_kill_at_any_call_leaves_whole_files_and_the_next_writer_finishes(
    tmp_path: Path, act: Callable[[Path], None]
) -> None:
    new = () if act is _remove else ("fiction",)
    before = (frozenset({"novels", "poems"}), frozenset({("novels", "poems"), ("poems", "novels")}))
    after = (frozenset({"poems", *new}), frozenset({(*new, "poems"), ("poems", *new)}))
    nothing = finished = 0
    prepared_once = tmp_path / "prepared" / "acme"
    prepared_once.mkdir(parents=True)
    with _closing(prepared_once, "first") as first:
        add_category(first, "novels")
        add_category(first, "poems")
        add_collection(first, "one", categories=["novels", "poems"])
        add_collection(first, "two", categories=["poems", "novels"])
    for number in range(1 if act is _remove else 2, 200, 3):
        root = tmp_path / f"run-{number}" / "acme"
        shutil.copytree(prepared_once, root)
        if not killed_at(number, root, act):
            break
        with _closing(root, "next") as session, session.writing():
            pass
        assert _state(root) in (before, after), f"killed at call {number}"
        nothing += _state(root) == before
        finished += _state(root) == after
        kinds_told = [kind for kind, data in events(root) if kind in ("CategoryRemoved", "CategoryChanged")]
        assert bool(kinds_told) == (_state(root) == after)
    assert nothing > 2
    assert finished > 5


@contextmanager
def _closing(root: Path, writer: str) -> Iterator[Session]:
    session = _opened(root, writer)
    try:
        yield session
    finally:
        session.close()


def test_the_lock_of_a_process_that_died_is_free(root: Path, session: Session) -> None:
    add_collection(session, "x")
    descriptor = os.open(root / ".records", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)
    assert add_collection(session, "y").value["name"] == "y"
