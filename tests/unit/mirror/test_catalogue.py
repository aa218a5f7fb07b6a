"""What readers know of a tree: all of what is there, in the sidebar's order, and never what was there before."""

import os
import uuid
from pathlib import Path

import pytest

from mirrord.domain.entry import Digest, EntryId, Kind, TenantId, id_of_path
from mirrord.mirror import catalogue as catalogues
from mirrord.mirror.card import Reading, read_card
from mirrord.mirror.catalogue import Catalogue, Snapshot
from mirrord.mirror.state import State, seen
from mirrord.mirror.tree import Tree

TENANT = TenantId(uuid.UUID(int=1))


@pytest.fixture
def catalogue(tree: Tree) -> Catalogue:
    return Catalogue(tree, TENANT)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of pages whose files are opened from now on."""
    opened: list[str] = []

    def counted(directory: int, path: str) -> Reading | None:
        opened.append(path)
        return read_card(directory, path)

    monkeypatch.setattr(catalogues, "read_card", counted)
    return opened


def write(root: Path, path: str, text: str | bytes = "") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def title(snapshot: Snapshot, path: str) -> str:
    card = snapshot.page(path)
    assert card is not None
    return card.title


def settle(file: Path) -> None:
    """Wait until the file's last change is not a moment ago: the kernel's clock for files is a coarse one."""
    probe = file.parent / ".probe"
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns - file.stat().st_ctime_ns > 60_000_000:
            break
    probe.unlink()


def test_pages_are_listed_in_the_order_of_the_sidebar(root: Path, catalogue: Catalogue) -> None:
    write(root, "b.md", "---\ntitle: Zulu\n---\n")
    write(root, "c.md", "---\ntitle: alpha\n---\n")
    write(root, "d.md", "---\nposition: b\n---\n")
    write(root, "e.md", "---\nposition: a1\n---\n")
    write(root, "Work/_index.md", "---\ntitle: My work\n---\n")
    write(root, "Note.md")
    write(root, "Note/Child.md")
    (root / "Empty").mkdir()

    found = catalogue.look().children("")

    assert [(card.path, card.title, card.kind) for card in found] == [
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

    snapshot = catalogue.look()

    has = {card.path: snapshot.has_children(card) for card in snapshot.children("")}
    assert has == {"Leaf/_index.md": False, "Work/_index.md": False, "Up": True}
    assert snapshot.children("Work") == snapshot.children("Work/assets") == []
    assert snapshot.page("Work/assets/a.md") is None
    assert list(snapshot.attachments) == ["Work/assets/a.md"]


def test_what_is_hidden_ignored_or_no_page_is_not_there(root: Path, catalogue: Catalogue) -> None:
    write(root, ".mirrorignore", "private/\n*.draft.md\n")
    for path in ("a.md", "private/b.md", "c.draft.md", ".git/d.md", "x/.trash/e.md", "f.txt", "g.md~", "x/h.md"):
        write(root, path)
    (root / "link.md").symlink_to(root / "a.md")
    (root / "linked").symlink_to(root / "x")

    snapshot = catalogue.look()

    assert sorted(snapshot.pages) == ["a.md", "x/h.md"]
    assert [snapshot.page(path) for path in ("private/b.md", "link.md", "linked/h.md", ".git/d.md", "../a.md")] == [
        None
    ] * 5
    assert snapshot.find("private") is snapshot.find("linked") is snapshot.find(".git") is None


def test_patterns_count_as_soon_as_they_are_written(root: Path, catalogue: Catalogue) -> None:
    write(root, "a.md")
    assert list(catalogue.look().pages) == ["a.md"]

    write(root, ".mirrorignore", "a.md\n")
    assert list(catalogue.look().pages) == []

    write(root, ".mirrorignore", b"\xff\n")  # cannot be taken: the patterns before go on
    assert list(catalogue.look().pages) == []


def test_a_changed_page_is_seen_at_the_next_look(root: Path, catalogue: Catalogue) -> None:
    file = write(root, "a.md", "---\ntitle: One\n---\n")
    for number in range(30):  # quick changes of the same size, within one tick of the kernel's clock
        file.write_text(f"---\ntitle: {number:03}\n---\n")
        assert title(catalogue.look(), "a.md") == f"{number:03}"


def test_a_changed_page_is_seen_also_with_its_time_set_back(root: Path, catalogue: Catalogue) -> None:
    file = write(root, "a.md", "---\ntitle: One\n---\n")
    settle(file)
    assert title(catalogue.look(), "a.md") == "One"
    before = file.stat()

    file.write_text("---\ntitle: Two\n---\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert title(catalogue.look(), "a.md") == "Two"


def test_a_page_replaced_by_another_is_seen(root: Path, catalogue: Catalogue) -> None:
    file = write(root, "a.md", "---\ntitle: One\n---\n")
    settle(file)
    assert title(catalogue.look(), "a.md") == "One"

    write(root, "b", "---\ntitle: Two\n---\n").replace(file)
    assert title(catalogue.look(), "a.md") == "Two"

    file.unlink()
    assert catalogue.look().page("a.md") is None


def test_a_page_that_stays_is_read_once(root: Path, catalogue: Catalogue, read: list[str]) -> None:
    settle(write(root, "a.md", "---\ntitle: One\n---\n"))

    assert [title(catalogue.look(), "a.md") for _ in range(3)] == ["One"] * 3
    assert read == ["a.md"]


def test_a_folder_is_listed_without_reading_the_rest(root: Path, catalogue: Catalogue, read: list[str]) -> None:
    write(root, "Here/a.md")
    write(root, "Here/Below/_index.md")
    write(root, "Here/Below/b.md")
    write(root, "There/c.md")
    catalogue.look().children("Here")

    assert sorted(read) == ["Here/Below/_index.md", "Here/a.md"]


def test_long_front_matter_is_read_to_its_end(root: Path, catalogue: Catalogue) -> None:
    write(
        root,
        "a.md",
        "---\n" + "".join(f"key{n}: value\n" for n in range(2000)) + "title: At last\n---\n" + "x" * 100_000,
    )

    assert title(catalogue.look(), "a.md") == "At last"


def test_a_page_is_text_or_not_or_too_long_to_know(root: Path, catalogue: Catalogue) -> None:
    write(root, "a.md", "é" * 100)
    write(root, "b.md", b"a\xff")
    write(root, "c.md", b"a\0")
    write(root, "d.md", "é" * 200_000)
    write(root, "e.md", "x" + "é" * 200_000)

    found = catalogue.look().cards(["a.md", "b.md", "c.md", "d.md", "e.md"])

    assert [card.is_text for card in found.values()] == [True, False, False, None, None]


def test_a_path_may_be_given_as_people_say_it(root: Path, catalogue: Catalogue) -> None:
    for path in ("Work/_index.md", "Work/a.md", "Note.md", "Note/b.md", "Dir/c.md"):
        write(root, path)
    snapshot = catalogue.look()

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
    snapshot = catalogue.look()

    assert snapshot.nearest("Projects/Alpa.md")[0] == "Projects/Alpha.md"
    assert snapshot.nearest("alpha")[0] == "Projects/Alpha.md"
    assert snapshot.nearest("Quite another thing") == ()


def test_an_id_is_what_was_noted_or_its_own_or_the_paths(root: Path, tree: Tree, catalogue: Catalogue) -> None:
    own, noted, of_folder = (EntryId(uuid.uuid4()) for _ in range(3))
    write(root, "own.md", f"---\nid: {own}\n---\n")
    write(root, "copy.md", f"---\nid: {own}\n---\n")
    write(root, "key.md", "---\nid: my-key\n---\n")
    write(root, "Dir/x.md")
    snapshot = catalogue.look()

    def ids() -> list[EntryId]:
        return list(
            snapshot.ids([card for path in ("own", "copy", "key", "Dir") if (card := snapshot.find(path))]).values()
        )

    assert ids() == [own, own, id_of_path(TENANT, "key.md"), id_of_path(TENANT, "Dir")]

    state = State(tree)
    nothing = Digest(bytes(32))
    noted_of = {"copy.md": noted, "key.md": noted, "Dir": of_folder}
    stats = {path: stat for path in noted_of if (stat := tree.stat(path))}
    state.store({path: seen(stat, nothing, noted_of[path]) for path, stat in stats.items()})

    assert ids() == [own, noted, noted, of_folder]
    state.close()


def test_a_cache_that_is_damaged_is_not_asked(root: Path, catalogue: Catalogue) -> None:
    write(root, "a.md")
    write(root, ".mirrord/state.db", b"not a database" * 1000)
    snapshot = catalogue.look()
    card = snapshot.page("a.md")
    assert card is not None

    assert snapshot.id_of(card) == id_of_path(TENANT, "a.md")


def test_files_that_keep_other_programs_out_are_noticed(root: Path, catalogue: Catalogue) -> None:
    write(root, "x/a.md")
    assert not catalogue.look().has_patterns

    write(root, "x/.gitignore")
    assert catalogue.look().has_patterns
