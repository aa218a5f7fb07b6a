import time
from datetime import timedelta
from pathlib import Path

from mirrord.domain.entry import digest_of, new_id
from mirrord.mirror import replace, trash
from mirrord.mirror.journal import TRASH, Journal
from mirrord.mirror.kernel import Stat
from mirrord.mirror.tree import Tree

ENTRY = new_id()
MONTH = timedelta(days=31).total_seconds()


def throw_away(tree: Tree, journal: Journal, root: Path, data: bytes) -> Path:
    (root / "A.md").write_bytes(data)
    replace.remove(tree, journal, "A.md", entry=ENTRY, over=digest_of(data), reason="test")
    return root / TRASH / trash.contents_of(tree)[-1].name


def test_an_empty_trash_has_no_contents(tree: Tree) -> None:
    assert trash.contents_of(tree) == []


def test_what_is_in_the_trash_goes_after_a_month(tree: Tree, journal: Journal, root: Path) -> None:
    path = throw_away(tree, journal, root, b"old")

    assert trash.purge(tree, time.time()) == []
    assert trash.purge(tree, time.time() + MONTH) == [path.name]
    assert list(path.parent.iterdir()) == []


def test_what_is_open_or_changed_is_not_purged(tree: Tree, journal: Journal, root: Path) -> None:
    first = throw_away(tree, journal, root, b"one")
    second = throw_away(tree, journal, root, b"two")
    second.write_bytes(b"two, saved late")

    with first.open("rb"):
        assert trash.purge(tree, time.time() + MONTH) == []
    assert trash.purge(tree, time.time() + MONTH) == [first.name]


def test_a_late_save_is_found_once_and_accepted(tree: Tree, journal: Journal, root: Path) -> None:
    path = throw_away(tree, journal, root, b"old")
    seen: dict[str, Stat] = {}
    assert trash.late_saves(tree, seen) == []
    path.write_bytes(b"saved late")

    ((name, _, digest),) = trash.late_saves(tree, seen)
    assert digest == digest_of(b"saved late")
    assert trash.late_saves(tree, seen) == []

    trash.accept(tree, name, digest)
    (found,) = trash.contents_of(tree)
    assert found.label.expected == digest
    assert found.card is not None
    assert trash.late_saves(tree, {}) == []
    assert trash.purge(tree, time.time() + MONTH) == [found.name]
