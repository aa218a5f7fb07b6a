"""What readers know of a tree: all of what is there, in the sidebar's order, and never what was there before."""

import os
import random
import shutil
import tempfile
import time
import uuid
from pathlib import Path

import pytest

from mirrord.domain.entry import Digest, EntryId, Kind, TenantId, id_of_path
from mirrord.mirror.mirror_state import State
from mirrord.mirror.read import directory_listing as glances
from mirrord.mirror.read import page_cache
from mirrord.mirror.read.page_catalogue import Catalogue, Snapshot
from mirrord.mirror.read.page_summary import CachedSummary, read_summary
from mirrord.mirror.state_file import cached_stat
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tenant_tree import Tree

TENANT = TenantId(uuid.UUID(int=1))


@pytest.fixture
def catalogue(tree: Tree) -> Catalogue:
    return Catalogue(tree, TENANT)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of pages whose files are opened from now on."""
    opened: list[str] = []

    def counted(directory: int, path: str) -> CachedSummary | None:
        opened.append(path)
        return read_summary(directory, path)

    monkeypatch.setattr(page_cache, "read_summary", counted)
    return opened


def write(root: Path, path: str, text: str | bytes = "") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def title(snapshot: Snapshot, path: str) -> str:
    card = snapshot.exact_page(path)
    assert card is not None
    return card.title


def settle(file: Path) -> None:
    """Wait until the last change of a file or directory is not a moment ago: the kernel's clock is a coarse one."""
    with tempfile.NamedTemporaryFile() as probe:
        while Path(probe.name).stat().st_ctime_ns - file.stat().st_ctime_ns < 60_000_000:
            os.utime(probe.name)


def test_pages_are_listed_in_the_order_of_the_sidebar(root: Path, catalogue: Catalogue) -> None:
    write(root, "b.md", "---\ntitle: Zulu\n---\n")
    write(root, "c.md", "---\ntitle: alpha\n---\n")
    write(root, "d.md", "---\nposition: b\n---\n")
    write(root, "e.md", "---\nposition: a1\n---\n")
    write(root, "Work/_index.md", "---\ntitle: My work\n---\n")
    write(root, "Note.md")
    write(root, "Note/Child.md")
    (root / "Empty").mkdir()

    cards = catalogue.snapshot().children("")

    assert [(card.path, card.title, card.kind) for card in cards] == [
        ("e.md", "e", Kind.PAGE),
        ("d.md", "d", Kind.PAGE),
        ("c.md", "alpha", Kind.PAGE),
        ("Empty", "Empty", Kind.FOLDER),
        ("Work/_index.md", "My work", Kind.PAGE),
        ("Note.md", "Note", Kind.PAGE),
        ("b.md", "Zulu", Kind.PAGE),
    ]


def test_only_pages_and_folders_are_children(root: Path, catalogue: Catalogue) -> None:
    write(root, "Work/_index.md")
    write(root, "Work/assets/a.md")
    write(root, "Leaf/_index.md")
    write(root, "Up/Sub/x.txt")

    snapshot = catalogue.snapshot()

    has = {card.path: snapshot.has_children(card) for card in snapshot.children("")}
    assert has == {"Leaf/_index.md": False, "Work/_index.md": False, "Up": True}
    assert snapshot.children("Work") == snapshot.children("Work/assets") == []
    assert snapshot.exact_page("Work/assets/a.md") is None
    assert list(snapshot.attachments) == ["Work/assets/a.md"]


def test_what_is_hidden_ignored_or_no_page_is_not_there(root: Path, catalogue: Catalogue) -> None:
    write(root, ".mirrorignore", "private/\n*.draft.md\n")
    for path in ("a.md", "private/b.md", "c.draft.md", ".git/d.md", "x/.trash/e.md", "f.txt", "g.md~", "x/h.md"):
        write(root, path)
    (root / "link.md").symlink_to(root / "a.md")
    (root / "linked").symlink_to(root / "x")

    snapshot = catalogue.snapshot()

    assert sorted(snapshot.pages) == ["a.md", "x/h.md"]
    assert [
        snapshot.exact_page(path) for path in ("private/b.md", "link.md", "linked/h.md", ".git/d.md", "../a.md")
    ] == [None] * 5
    assert snapshot.find("private") is snapshot.find("linked") is snapshot.find(".git") is None


def test_patterns_count_as_soon_as_they_are_written(root: Path, catalogue: Catalogue) -> None:
    write(root, "a.md")
    assert list(catalogue.snapshot().pages) == ["a.md"]

    write(root, ".mirrorignore", "a.md\n")
    assert list(catalogue.snapshot().pages) == []

    write(root, ".mirrorignore", b"\xff\n")  # cannot be taken: the patterns before go on
    assert list(catalogue.snapshot().pages) == []


def test_patterns_count_in_a_root_that_had_been_the_same_for_long(root: Path, catalogue: Catalogue) -> None:
    def pages_of_old_root() -> list[str]:
        while not stat_of(root.stat()).is_settled(time.time_ns()):
            catalogue.snapshot()  # for 20 ms
        return [*catalogue.snapshot().pages, *catalogue.snapshot().attachments]

    write(root, "a.md")
    write(root, "b.png")
    assert pages_of_old_root() == ["a.md"]
    write(root, ".obsidian/app.json", '{"attachmentFolderPath": "/"}')
    assert pages_of_old_root() == ["a.md", "b.png"]
    write(root, ".mirrorignore", "a.md\n")
    assert pages_of_old_root() == ["b.png"]
    write(root, ".mirrorignore", "b.png\n")
    assert pages_of_old_root() == ["a.md"]
    (root / ".mirrorignore").unlink()
    (root / ".obsidian/app.json").unlink()
    (root / ".obsidian").rmdir()
    assert pages_of_old_root() == ["a.md"]


def test_a_changed_page_is_seen_at_the_next_look(root: Path, catalogue: Catalogue) -> None:
    file = write(root, "a.md", "---\ntitle: One\n---\n")
    for number in range(30):  # quick changes of the same size, within one tick of the kernel's clock
        file.write_text(f"---\ntitle: {number:03}\n---\n")
        assert title(catalogue.snapshot(), "a.md") == f"{number:03}"
        assert catalogue.snapshot().summaries_by_path["a.md"].title == f"{number:03}"


def test_a_new_page_is_there_at_the_next_look(
    root: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def coarse(raw: os.stat_result) -> Stat:
        """With a clock as slow as kernels may have it; newer ones tell all changes apart that somebody looked for."""
        tick = 10_000_000
        exact = stat_of(raw)
        return exact._replace(
            mtime_ns=exact.mtime_ns // tick * tick, ctime_ns=exact.ctime_ns // tick * tick, links=1, size=0
        )

    monkeypatch.setattr(glances, "stat_of", coarse)
    names = set[str]()
    for number in range(60):  # quick ones, several within one tick
        names.add(write(root, f"{number}.md").name)
        assert set(catalogue.snapshot().pages) == names


def test_a_changed_page_is_seen_also_with_its_time_set_back(root: Path, catalogue: Catalogue) -> None:
    file = write(root, "a.md", "---\ntitle: One\n---\n")
    settle(file)
    assert title(catalogue.snapshot(), "a.md") == "One"
    before = file.stat()

    file.write_text("---\ntitle: Two\n---\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert title(catalogue.snapshot(), "a.md") == "Two"


def test_a_page_replaced_by_another_is_seen(root: Path, catalogue: Catalogue) -> None:
    file = write(root, "a.md", "---\ntitle: One\n---\n")
    settle(file)
    assert title(catalogue.snapshot(), "a.md") == "One"

    write(root, "b", "---\ntitle: Two\n---\n").replace(file)
    assert title(catalogue.snapshot(), "a.md") == "Two"

    file.unlink()
    assert catalogue.snapshot().exact_page("a.md") is None


def test_a_page_that_stays_is_read_once(root: Path, catalogue: Catalogue, read: list[str]) -> None:
    settle(write(root, "a.md", "---\ntitle: One\n---\n"))

    assert [title(catalogue.snapshot(), "a.md") for _ in range(3)] == ["One"] * 3
    assert read == ["a.md"]


def test_a_folder_is_listed_without_reading_the_rest(root: Path, catalogue: Catalogue, read: list[str]) -> None:
    write(root, "Here/a.md")
    write(root, "Here/Below/_index.md")
    write(root, "Here/Below/b.md")
    write(root, "There/c.md")
    catalogue.snapshot().children("Here")

    assert sorted(read) == ["Here/Below/_index.md", "Here/a.md"]


def test_long_front_matter_is_read_to_its_end(root: Path, catalogue: Catalogue) -> None:
    write(
        root,
        "a.md",
        "---\n" + "".join(f"key{n}: value\n" for n in range(2000)) + "title: At last\n---\n" + "x" * 100_000,
    )

    assert title(catalogue.snapshot(), "a.md") == "At last"


def test_a_page_is_text_or_not_or_too_long_to_know(root: Path, catalogue: Catalogue) -> None:
    write(root, "a.md", "é" * 100)
    write(root, "b.md", b"a\xff")
    write(root, "c.md", b"a\0")
    write(root, "d.md", "é" * 200_000)
    write(root, "e.md", "x" + "é" * 200_000)

    summaries = catalogue.snapshot().summaries(["a.md", "b.md", "c.md", "d.md", "e.md"])

    assert [card.is_text for card in summaries.values()] == [True, False, False, None, None]


def test_a_path_may_be_given_as_people_say_it(root: Path, catalogue: Catalogue) -> None:
    for path in ("Work/_index.md", "Work/a.md", "Note.md", "Note/b.md", "Dir/c.md"):
        write(root, path)
    snapshot = catalogue.snapshot()

    def found(path: str) -> str | None:
        card = snapshot.find(path)
        return card.path if card else None

    assert found("Work") == found("/Work/") == found("Work/_index.md") == "Work/_index.md"
    assert found("Work/a") == found("Work/a.md") == "Work/a.md"
    assert found("Note") == "Note.md"
    assert found("Dir") == "Dir"
    assert found("") is found("Dir/x") is found("work") is None


def test_the_nearest_paths_are_named(root: Path, catalogue: Catalogue) -> None:
    for path in ("Projects/Alpha.md", "Projects/Beta.md", "Archive/Alpha plan.md", "Home.md"):
        write(root, path)
    snapshot = catalogue.snapshot()

    assert snapshot.similar_pages("Projects/Alpa.md")[0] == "Projects/Alpha.md"
    assert snapshot.similar_pages("alpha")[0] == "Projects/Alpha.md"
    assert snapshot.similar_pages("Quite another thing") == ()


def test_an_id_is_what_was_noted_or_its_own_or_the_paths(root: Path, tree: Tree, catalogue: Catalogue) -> None:
    own_id, noted, of_folder = (EntryId(uuid.uuid4()) for _ in range(3))
    write(root, "own.md", f"---\nid: {own_id}\n---\n")
    write(root, "copy.md", f"---\nid: {own_id}\n---\n")
    write(root, "key.md", "---\nid: my-key\n---\n")
    write(root, "Dir/x.md")
    snapshot = catalogue.snapshot()

    def ids() -> list[EntryId]:
        return list(
            snapshot.ids([card for path in ("own", "copy", "key", "Dir") if (card := snapshot.find(path))]).values()
        )

    assert ids() == [own_id, own_id, id_of_path(TENANT, "key.md"), id_of_path(TENANT, "Dir")]

    state = State(tree)
    nothing = Digest(bytes(32))
    noted_of = {"copy.md": noted, "key.md": noted, "Dir": of_folder}
    stats = {path: stat for path in noted_of if (stat := tree.stat(path))}
    state.store({path: cached_stat(stat, nothing, noted_of[path]) for path, stat in stats.items()})

    assert ids() == [own_id, noted, noted, of_folder]
    state.close()


def test_a_cache_that_is_damaged_is_not_asked(root: Path, catalogue: Catalogue) -> None:
    write(root, "a.md")
    write(root, ".mirrord/state.db", b"not a database" * 1000)
    snapshot = catalogue.snapshot()
    card = snapshot.exact_page("a.md")
    assert card is not None

    assert snapshot.id_of(card) == id_of_path(TENANT, "a.md")


def test_files_that_keep_other_programs_out_are_noticed(root: Path, catalogue: Catalogue) -> None:
    write(root, "x/a.md")
    assert not catalogue.snapshot().has_patterns

    write(root, "x/.gitignore")
    assert catalogue.snapshot().has_patterns


def change(root: Path, chance: random.Random) -> None:
    """Something that a person or a program does to a tree."""
    directory = root / chance.choice(("", "A", "A/B", "A/assets", "C"))
    name = chance.choice(("_index.md", "x.md", "y.md", "A.md", "B.md", "p.png", ".gitignore", "z.draft.md"))
    file = directory / name
    match chance.randrange(8):
        case 0 | 1 | 2:
            directory.mkdir(parents=True, exist_ok=True)
            file.write_text(f"---\ntitle: {chance.randrange(100)}\n---\n")
        case 3 if file.exists():
            file.rename(root / chance.choice(("x.md", "moved.md")))
        case 4 if file.exists():
            with file.open("r+b") as stream:  # as many bytes, and a time that says nothing
                stream.write(f"---\ntitle: {chance.randrange(10, 100)}".encode())
            os.utime(file, ns=(0, 0))
        case 5:
            file.unlink(missing_ok=True)
        case 6 if directory != root and directory.exists():
            shutil.rmtree(directory)
        case 7:
            (root / ".mirrorignore").write_text(chance.choice(("*.draft.md\n", "C/\n", "")))
        case _:
            pass


def everything(snapshot: Snapshot) -> dict[str, object]:
    """All that a snapshot says."""
    return {
        "titles": {path: card.title for path, card in snapshot.summaries_by_path.items()},
        "pages": snapshot.pages,
        "attachments": snapshot.attachments,
        "folders": sorted(snapshot.folders),
        "patterns": snapshot.has_patterns,
        "children": {path: snapshot.children(path) for path in ("", "A", "A/B", "C")},
    }


@pytest.mark.parametrize("seed", range(4))
def test_what_is_known_is_what_somebody_sees_who_knew_nothing(
    root: Path, tree: Tree, catalogue: Catalogue, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(80):
        for _ in range(chance.randrange(3)):
            change(root, chance)
        if chance.random() < 0.3:
            catalogue.snapshot().children("A")
        everything_known = everything(catalogue.snapshot())
        assert everything_known == everything(Catalogue(tree, TENANT).snapshot())
        if chance.random() < 0.1:
            settle(root)


def test_a_tree_that_stays_is_neither_listed_nor_read_again(
    root: Path, catalogue: Catalogue, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(write(root, "A/B/x.md", "---\ntitle: One\n---\n"))
    settle(root)
    before = catalogue.snapshot()
    assert before.summaries_by_path.keys() == {"A/B/x.md"}
    read.clear()
    monkeypatch.setattr(os, "scandir", None)

    after = catalogue.snapshot()

    assert after.page_index is before.page_index
    assert after.walk is before.walk
    assert read == []


def test_a_change_of_one_page_leaves_the_others_unread(root: Path, catalogue: Catalogue, read: list[str]) -> None:
    for name in ("a.md", "b.md", "A/c.md"):
        settle(write(root, name, "---\ntitle: One\n---\n"))
    assert len(catalogue.snapshot().summaries_by_path) == 3
    read.clear()

    settle(write(root, "b.md", "---\ntitle: Two\n---\n"))

    assert title(catalogue.snapshot(), "b.md") == "Two"
    assert {path: card.title for path, card in catalogue.snapshot().summaries_by_path.items()} == {
        "A/c.md": "One",
        "a.md": "One",
        "b.md": "Two",
    }
    assert read == ["b.md"]


def test_a_page_that_may_change_under_its_stat_is_read_at_every_look(
    root: Path, catalogue: Catalogue, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "a.md")
    monkeypatch.setattr(Stat, "is_settled", lambda *_: False)

    assert catalogue.snapshot().summaries_by_path.keys() == catalogue.snapshot().summaries_by_path.keys() == {"a.md"}
    assert read == ["a.md", "a.md"]
