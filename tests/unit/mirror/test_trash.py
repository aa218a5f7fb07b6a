import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from mirrord.domain.entry import digest_of, new_id
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import replace, trash, written_copies
from mirrord.mirror.write.journal import TRASH_PATH, Journal
from mirrord.mirror.write.journal_labels import Label

ENTRY = new_id()
MONTH, MINUTES = timedelta(days=31).total_seconds(), timedelta(minutes=11).total_seconds()


def throw_away(tree: Tree, journal: Journal, root: Path, data: bytes) -> Path:
    (root / "A.md").write_bytes(data)
    replace.remove(tree, journal, "A.md", replace.ExpectedFile(ENTRY, digest_of(data)), replace.Removal("test"))
    return root / TRASH_PATH / trash.list_trash(tree)[-1].name


def test_an_empty_trash_has_no_contents(tree: Tree) -> None:
    assert trash.list_trash(tree) == []


def test_what_is_in_the_trash_goes_after_a_month(tree: Tree, journal: Journal, root: Path) -> None:
    path = throw_away(tree, journal, root, b"old")

    assert trash.purge(tree, time.time()) == []
    assert trash.purge(tree, time.time() + MONTH) == [path.name]
    assert list(path.parent.iterdir()) == []


def test_a_text_is_in_the_trash_only_if_a_file_there_holds_it(tree: Tree, journal: Journal, root: Path) -> None:
    copied = Label(ENTRY, None, digest_of(b"what a command wrote"))
    path = throw_away(tree, journal, root, b"what a command wrote")
    assert written_copies.was_replaced(tree, copied)

    path.write_bytes(b"somebody's save")

    assert not written_copies.was_replaced(tree, copied)


def test_what_is_open_or_changed_is_not_purged(tree: Tree, journal: Journal, root: Path) -> None:
    first = throw_away(tree, journal, root, b"one")
    second = throw_away(tree, journal, root, b"two")
    second.write_bytes(b"two, saved late")

    with first.open("rb"):
        assert trash.purge(tree, time.time() + MONTH) == []
    assert trash.purge(tree, time.time() + MONTH) == [first.name]


def test_a_late_save_is_found_once_and_accepted(tree: Tree, journal: Journal, root: Path) -> None:
    path = throw_away(tree, journal, root, b"old")
    seen_stats: dict[str, Stat] = {}
    assert trash.late_saves(tree, seen_stats) == []
    path.write_bytes(b"saved late")

    ((name, _, digest),) = trash.late_saves(tree, seen_stats)
    assert digest == digest_of(b"saved late")
    assert trash.late_saves(tree, seen_stats) == []

    trash.accept_late_save(tree, name, digest)
    (item,) = trash.list_trash(tree)
    assert item.label.expected == digest
    assert item.card is not None
    assert trash.late_saves(tree, {}) == []
    assert trash.purge(tree, time.time() + MONTH) == [item.name]


WRITER = """
import sys
with open(sys.argv[1], "r+b") as file:
    print("open", flush=True)
    if sys.stdin.readline() == "write\\n":
        file.write(b"typed long after")
"""


def editor(path: Path) -> subprocess.Popen[str]:
    """A program of its own that has the file open until it is told what to do: a line, or the end of input."""
    program = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "open\n"
    return program


def test_what_another_program_has_open_stays_until_it_closes_it(tree: Tree, journal: Journal, root: Path) -> None:
    path = throw_away(tree, journal, root, b"old")
    with editor(path) as program:
        assert trash.purge(tree, time.time() + MONTH) == []
        program.communicate()
    assert trash.purge(tree, time.time() + MONTH) == [path.name]


def test_what_another_program_wrote_late_is_never_purged_before_it_is_taken_in(
    tree: Tree, journal: Journal, root: Path
) -> None:
    path = throw_away(tree, journal, root, b"old")
    with editor(path) as program:
        program.communicate("write\n")
    assert trash.purge(tree, time.time() + 100 * MONTH) == []
    assert path.read_bytes() == b"typed long after"

    ((name, _, digest),) = trash.late_saves(tree, {})
    trash.accept_late_save(tree, name, digest)
    (item,) = trash.list_trash(tree)
    assert trash.purge(tree, time.time() + MONTH) == [item.name]


def test_a_replaced_file_is_kept_as_long_as_a_removed_one(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"old")
    replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old")))
    (item,) = trash.list_trash(tree)
    assert item.card is None
    assert trash.purge(tree, time.time() + MONTH / 2) == []
    assert trash.trash_size(tree) == (1, 3)
    assert trash.purge(tree, time.time() + MONTH) == [item.name]
    assert trash.trash_size(tree) == (0, 0)


def put_in_place(tree: Tree, journal: Journal, root: Path, old: bytes) -> Path:
    """Replace a file that was *old*; where that is now."""
    (root / "A.md").write_bytes(old)
    replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(old)))
    return root / TRASH_PATH / trash.list_trash(tree)[-1].name


def replaced(tree: Tree, now: float) -> list[tuple[str, Label]]:
    seen_stats: dict[str, Stat] = {}
    trash.late_saves(tree, seen_stats)
    return trash.expired_replacements(seen_stats, now)


def test_only_what_was_replaced_minutes_ago_may_go_for_being_a_version(
    tree: Tree, journal: Journal, root: Path
) -> None:
    path = put_in_place(tree, journal, root, b"old")
    throw_away(tree, journal, root, b"removed")
    assert replaced(tree, time.time()) == []
    ((name, label),) = replaced(tree, time.time() + MINUTES)
    assert (name, label.expected) == (path.name, digest_of(b"old"))
    assert trash.purge_versions(tree, [(name, label)]) == [name]
    assert [item.card is None for item in trash.list_trash(tree)] == [False]


def test_what_is_open_changed_or_has_another_name_is_not_let_go(tree: Tree, journal: Journal, root: Path) -> None:
    opened, changed, linked = (put_in_place(tree, journal, root, data) for data in (b"one", b"two", b"three"))
    changed.write_bytes(b"two, saved late")
    (root / "Elsewhere.md").hardlink_to(linked)
    expired = replaced(tree, time.time() + MINUTES)
    assert {name for name, _ in expired} == {opened.name, changed.name}
    with editor(opened) as program:
        assert trash.purge_versions(tree, expired) == []
        program.communicate()
    assert trash.purge_versions(tree, expired) == [opened.name]


def test_where_nobody_can_tell_who_has_a_file_open_it_stays_for_a_month(
    tree: Tree, journal: Journal, root: Path
) -> None:
    path = put_in_place(tree, journal, root, b"old")
    before = signal.signal(signal.SIGIO, signal.SIG_DFL)  # as in a process that may not ask
    try:
        assert trash.purge_versions(tree, replaced(tree, time.time() + MINUTES)) == []
        assert trash.purge(tree, time.time() + MONTH) == [path.name]
    finally:
        signal.signal(signal.SIGIO, before)


def test_what_is_gone_is_not_remembered(tree: Tree, journal: Journal, root: Path) -> None:
    path, seen_stats = throw_away(tree, journal, root, b"old"), dict[str, Stat]()
    trash.late_saves(tree, seen_stats)
    assert seen_stats.keys() == {path.name}
    path.unlink()
    trash.late_saves(tree, seen_stats)
    assert seen_stats == {}


def test_a_card_without_its_file_goes_too(tree: Tree, journal: Journal, root: Path) -> None:
    path = throw_away(tree, journal, root, b"old")
    path.unlink()
    assert trash.purge(tree, time.time()) == []
    assert len(list(path.parent.iterdir())) == 1
    trash.purge(tree, time.time() + MONTH)
    assert list(path.parent.iterdir()) == []


def test_what_cannot_be_read_stays_and_stops_nothing(
    tree: Tree, journal: Journal, root: Path, as_nobody: Callable[[Callable[[], None]], None]
) -> None:
    path = throw_away(tree, journal, root, b"old")
    path.chmod(0)
    (root / TRASH_PATH).chmod(0o777)
    (root / ".mirrord").chmod(0o777)
    purged: list[str] = []

    def act() -> None:
        purged.extend(trash.purge(tree, time.time() + MONTH))
        assert trash.late_saves(tree, {}) == []
        assert purged == []

    as_nobody(act)
    assert path.exists()
