"""`mirrord collections` and `mirrord categories`: a person's way to what agents' tools do, without Postgres."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.cli.commands import cli
from tests.system.clients import tenant_in

Run = Callable[..., tuple[int, str, str]]
PAGES = {"Books/A.md": "a", "Books/novels/B.md": "b", "Books/novels/drafts/C.md": "c", "Other.md": "o"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tenant_in(tmp_path / "mirror", pages=PAGES).root


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """What a command ends with: its exit code, and what it says on each channel."""
    monkeypatch.setenv("USER", "ana")

    def act(*words: str) -> tuple[int, str, str]:
        given = [*words, "--mirror", str(root.parent), "--data", str(root.parents[1] / "data")]
        code = cli.main(given, prog_name="mirrord", standalone_mode=False) or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return act


def test_a_person_keeps_collections_with_all_verbs_and_the_same_events(root: Path, run: Run) -> None:
    assert run("categories", "add", "novels", "novels/", "!drafts/", "--dir", "books") == (
        *(0, "novels  Books  novels/, !drafts/\n", ""),
    )
    assert run("categories", "add", "all", "--dir", "Books", "--description", "every book")[0] == 0
    assert run("collections", "add", "reading", "novels", "all") == (0, "reading  novels, all\n", "")
    assert run("collections", "content", "reading") == (
        *(0, "Books/novels/B.md\nBooks/A.md\nBooks/novels/drafts/C.md\n", ""),
    )
    assert run("collections", "update", "reading", "--remove", "all")[1] == "reading  novels\n"
    assert run("collections", "change", "reading", "--name", "books", "--category", "all")[1] == "books  all\n"
    assert run("collections", "change", "books", "--no-categories", "--description", "x")[1] == "books  x\n"
    assert run("collections", "update", "books", "--add", "all")[0] == 0
    assert run("categories", "change", "all", "--name", "every", "--no-patterns")[2] == (
        "Collections that follow: books.\n"
    )
    assert run("categories", "update", "every", "--add", "A", "--remove", "b")[1] == "every  Books  A  every book\n"
    assert json.loads(run("collections", "content", "books", "--json")[1])[0]["path"] == "Books/A.md"
    assert [one["name"] for one in json.loads(run("categories", "list", "--json")[1])] == ["novels", "every"]
    assert run("categories", "list")[1].split() == ["novels", "Books", "novels/,", "!drafts/", "every", "Books", "A"]
    assert run("categories", "remove", "every")[0] == 0
    assert run("collections", "list")[1].split() == ["books"]
    assert run("collections", "remove", "books")[0] == 0

    (file,) = (root / ".records/events").glob("*.jsonl")
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["type"] for one in told] == [
        *("CategoryAdded", "CategoryAdded", "CollectionAdded", "CollectionUpdated", "CollectionChanged"),
        *("CollectionChanged", "CollectionUpdated", "CategoryChanged", "CollectionUpdated", "CategoryUpdated"),
        *("CategoryRemoved", "CollectionUpdated", "CollectionRemoved"),
    ]
    assert {json.dumps(one["actor"]) for one in told} == {'{"kind": "human", "name": "ana"}'}


def test_what_is_wrong_is_said_in_a_sentence_with_its_exit_code(root: Path, run: Run) -> None:
    (root / ".records/collections").mkdir(parents=True)
    (root / ".records/collections/broken.yaml").write_text("categories: [\n")
    assert run("collections", "add", "x", "none", "nothing") == (
        *(2, "", "mirrord: There are no categories 'none', 'nothing'.\n"),
    )
    assert run("collections", "remove", "x") == (2, "", "mirrord: There is no collection 'x'.\n")
    assert run("categories", "add", "a b")[0] == 2
    assert run("categories", "add", "a")[0] == 0
    assert run("categories", "add", "A") == (4, "", "mirrord: There is a category 'a' already.\n")
    code, _, said = run("collections", "remove", "broken")
    assert (code, "line 2" in said) == (3, True)
    code, _, said = run("collections", "list")
    assert (code, "broken.yaml cannot be read: line 2" in said) == (0, True)
