"""`mirrord collections` and `mirrord categories`: a person's way to what agents' tools do, without Postgres."""

import json
from pathlib import Path

import pytest

from tests.support.clients import tenant_in
from tests.support.commands import Command, Done

PAGES = {"Books/A.md": "a", "Books/novels/B.md": "b", "Books/novels/drafts/C.md": "c", "Other.md": "o"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tenant_in(tmp_path / "mirror", pages=PAGES).root


def test_a_person_keeps_collections_with_all_verbs_and_the_same_events(root: Path, run: Command) -> None:
    assert run("categories", "add", "novels", "novels/", "!drafts/", "--dir", "books") == Done(
        0, "novels  Books  novels/, !drafts/\n"
    )
    assert run("categories", "add", "all", "--dir", "Books", "--description", "every book").code == 0
    assert run("collections", "add", "reading", "novels", "all") == Done(0, "reading  novels, all\n")
    assert run("collections", "content", "reading") == Done(
        0, "Books/novels/B.md\nBooks/A.md\nBooks/novels/drafts/C.md\n"
    )
    assert run("collections", "update", "reading", "--remove", "all").out == "reading  novels\n"
    assert run("collections", "change", "reading", "--name", "books", "--category", "all").out == "books  all\n"
    assert run("collections", "change", "books", "--no-categories", "--description", "x").out == "books  x\n"
    assert run("collections", "update", "books", "--add", "all").code == 0
    assert run("categories", "change", "all", "--name", "every", "--no-patterns").err == (
        "Collections that follow: books.\n"
    )
    assert run("categories", "update", "every", "--add", "A", "--remove", "b").out == "every  Books  A  every book\n"
    assert json.loads(run("collections", "content", "books", "--json").out)[0]["path"] == "Books/A.md"
    assert [category["name"] for category in json.loads(run("categories", "list", "--json").out)] == ["novels", "every"]
    assert run("categories", "list").out.split() == ["novels", "Books", "novels/,", "!drafts/", "every", "Books", "A"]
    assert run("categories", "remove", "every").code == 0
    assert run("collections", "list").out.split() == ["books"]
    assert run("collections", "remove", "books").code == 0

    (file,) = (root / ".records/events").glob("*.jsonl")
    recorded = [json.loads(line) for line in file.read_text().splitlines()]
    assert [event["type"] for event in recorded] == [
        *("CategoryAdded", "CategoryAdded", "CollectionAdded", "CollectionUpdated", "CollectionChanged"),
        *("CollectionChanged", "CollectionUpdated", "CategoryChanged", "CollectionUpdated", "CategoryUpdated"),
        *("CategoryRemoved", "CollectionUpdated", "CollectionRemoved"),
    ]
    assert {json.dumps(event["actor"]) for event in recorded} == {'{"kind": "human", "name": "ana"}'}


def test_what_is_wrong_is_said_in_a_sentence_with_its_exit_code(root: Path, run: Command) -> None:
    (root / ".records/collections").mkdir(parents=True)
    (root / ".records/collections/broken.yaml").write_text("categories: [\n")
    assert run("collections", "add", "x", "none", "nothing") == Done(
        2, err="mirrord: There are no categories 'none', 'nothing'.\n"
    )
    assert run("collections", "remove", "x") == Done(2, err="mirrord: There is no collection 'x'.\n")
    assert run("categories", "add", "a b").code == 2
    assert run("categories", "add", "a").code == 0
    assert run("categories", "add", "A") == Done(4, err="mirrord: There is a category 'a' already.\n")
    result = run("collections", "remove", "broken")
    assert (result.code, "line 2" in result.err) == (3, True)
    result = run("collections", "list")
    assert (result.code, "broken.yaml cannot be read: line 2" in result.err) == (0, True)
