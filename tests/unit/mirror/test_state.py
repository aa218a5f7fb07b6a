import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import Base, Kind, Place, digest_of, new_id
from mirrord.mirror import mirror_state
from mirrord.mirror.mirror_state import State
from mirrord.mirror.state_file import CachedStat, cached_stat
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from tests.house import ROOT

HUGE = (1 << 64) - 1


def some(number: int = 1, inode: int = 5) -> CachedStat:
    return CachedStat(number, inode, 3, 4_000, -5, digest_of(b"x"), new_id())


def test_what_was_seen_is_remembered(tree: Tree) -> None:
    first, second = some(1), some(HUGE, HUGE)
    opened = State(tree)
    opened.store({"A.md": first, "B/C.md": second})
    opened.close()

    again = State(tree)
    assert again.load() == {"A.md": first, "B/C.md": second}
    again.store({"A.md": second}, ["B/C.md", "never.md"])
    assert again.load() == {"A.md": second}
    again.close()


def test_a_record_is_stored_until_another_takes_its_place(tree: Tree) -> None:
    opened, first, second = State(tree), some(1), some(2)
    assert not opened.has_just_stored({"A.md": first})
    opened.store({"A.md": first})
    assert opened.has_just_stored({"A.md": first})
    assert not opened.has_just_stored({"A.md": second})
    assert not opened.has_just_stored({"B.md": first})
    opened.store({"A.md": second})
    assert not opened.has_just_stored({"A.md": first})
    opened.store({}, ["A.md"])
    assert not opened.has_just_stored({"A.md": second})
    opened.store({"A.md": first})
    opened.note_unrecorded_base(Base(new_id(), Kind.PAGE, "A.md", Place(None, "A"), 1, digest_of(b"x"), None), second)
    assert not opened.has_just_stored({"A.md": first})
    opened.close()


def test_nothing_is_stored_any_more_after_the_file_was_damaged(tree: Tree, root: Path) -> None:
    opened, stat = State(tree), some()
    opened.store({"A.md": stat})
    damage_while_open(opened, root)
    assert opened.load() == {}
    assert not opened.has_just_stored({"A.md": stat})
    opened.close()


def test_a_stat_matches_until_the_file_changes(tree: Tree, root: Path) -> None:
    (root / "A.md").write_bytes(b"alpha")
    before = tree.stat("A.md")
    assert before is not None
    cached = cached_stat(before, digest_of(b"alpha"), new_id())
    (root / "A.md").write_bytes(b"alpha and more")

    after = tree.stat("A.md")
    assert cached.matches(before)
    assert after is not None
    assert not cached.matches(after)


def test_counters_outlive_the_process(tree: Tree) -> None:
    opened = State(tree)
    assert opened.get("ack_seq") is None
    opened.set("ack_seq", "41")
    opened.set("ack_seq", "42")
    opened.close()

    again = State(tree)
    assert again.get("ack_seq") == "42"
    again.close()


@pytest.mark.parametrize("damage", ["garbage", "cut", "other version", "other schema", "directory", "link"])
def test_a_file_that_cannot_be_used_costs_only_what_it_held(tree: Tree, root: Path, damage: str) -> None:
    opened = State(tree)
    opened.store({f"{number}.md": some() for number in range(500)})
    opened.close()
    harm(root / ".mirrord/state.db", damage)

    again = State(tree)
    again.load()
    again.store({"A.md": (cached := some())})
    assert again.load()["A.md"] == cached
    again.set("ack_seq", "1")
    assert again.get("ack_seq") == "1"
    assert again.is_in_place()
    again.close()


def harm(path: Path, damage: str) -> None:
    match damage:
        case "garbage":
            path.write_bytes(b"not a database at all" * 1000)
        case "cut":
            path.write_bytes(path.read_bytes()[:10_000])
        case "other version" | "other schema":
            with sqlite3.connect(path) as database:
                version = "PRAGMA user_version = 999"
                database.execute(version if damage == "other version" else "DROP TABLE seen")
            database.close()
        case "directory" | "link":
            path.unlink()
            path.mkdir() if damage == "directory" else path.symlink_to("/etc/passwd")


def damage_while_open(opened: State, root: Path) -> None:
    opened._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray((root / ".mirrord/state.db").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (root / ".mirrord/state.db").write_bytes(data)
    opened._database.execute("PRAGMA shrink_memory")  # or SQLite reads what it remembers


def test_damage_while_it_is_open_is_survived(tree: Tree, root: Path) -> None:
    opened = State(tree)
    opened.store({f"{number}.md": some() for number in range(500)})
    damage_while_open(opened, root)
    opened.load()
    opened.store({"A.md": (cached := some())})
    opened.store({"A.md": cached})
    assert opened.load() == {"A.md": cached}
    opened.close()


def test_a_deleted_file_is_noticed(tree: Tree, root: Path) -> None:
    opened = State(tree)
    assert opened.is_in_place()
    (root / ".mirrord/state.db").unlink()
    assert not opened.is_in_place()
    opened.close()


FIRST, SECOND = some(1), some(2)
NO_DESCRIPTORS = 3  # fewer than any process has open: every further one is refused


@pytest.fixture
def resting(tree: Tree) -> Iterator[State]:
    """A state with a record and a counter, whose file is closed until it is needed."""
    state = State(tree)
    state.store({"A.md": FIRST})
    state.set("ack_seq", "41")
    state.rest()
    yield state
    state.close()


def test_a_state_at_rest_has_no_open_file_and_goes_on_with_all_it_held(resting: State, root: Path) -> None:
    assert not has_open_file(root)
    assert resting.is_in_place()
    assert not has_open_file(root)
    assert resting.get("ack_seq") == "41"
    assert has_open_file(root)
    assert resting.load() == {"A.md": FIRST}
    resting.rest()
    resting.store({"B.md": SECOND})
    assert resting.load() == {"A.md": FIRST, "B.md": SECOND}
    assert resting.is_in_place()


def has_open_file(root: Path) -> bool:
    return any(path.startswith(str(root / ".mirrord/state.db")) for path in open_paths())


def open_paths() -> list[str]:
    paths = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of this list
            paths.append(str(descriptor.readlink()))
    return paths


@pytest.mark.parametrize("change", ["deleted", "deleted with its directory", "replaced", "damaged"])
def test_a_file_that_is_another_one_after_a_rest_is_not_taken_for_the_tree_s_own(
    resting: State, root: Path, tmp_path: Path, change: str
) -> None:
    file = root / ".mirrord/state.db"
    match change:
        case "deleted":
            file.unlink()
        case "deleted with its directory":
            shutil.rmtree(file.parent)
        case "replaced":
            shutil.copy(file, tmp_path / "copy.db")
            (tmp_path / "copy.db").replace(file)
        case "damaged":
            file.write_bytes(b"not a database at all" * 1000)
    resting.store({"B.md": SECOND})
    assert resting.load()["B.md"] == SECOND
    assert not resting.is_in_place()


def test_a_record_that_was_stored_before_another_file_came_is_not_taken_for_stored(tree: Tree, root: Path) -> None:
    state, record = State(tree), {"A.md": FIRST}
    state.store(record)
    state.rest()
    assert state.has_just_stored(record)
    (root / ".mirrord/state.db").unlink()
    state.get("ack_seq")
    assert not state.has_just_stored(record)
    state.close()


def test_a_file_that_cannot_be_opened_again_for_want_of_descriptors_stays_as_it_is(resting: State) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (NO_DESCRIPTORS, hard))
    try:
        assert resting.get("ack_seq") is None
        resting.store({"B.md": SECOND})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resting.get("ack_seq") == "41"
    assert resting.load() == {"A.md": FIRST}
    assert resting.is_in_place()


def test_a_state_at_rest_is_safe_to_use_from_several_threads(tree: Tree) -> None:
    state = State(tree)

    def store(number: int) -> None:
        for k in range(20):
            state.store({f"{number}-{k}.md": some(k)})
            state.rest()

    threads = [threading.Thread(target=store, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(state.load()) == 80
    state.close()


def test_threads_share_one_state(tree: Tree) -> None:
    opened = State(tree)
    threads = [
        threading.Thread(target=opened.store, args=({f"{number}-{k}.md": some() for k in range(50)},))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(opened.load()) == 400
    opened.close()


@given(st.integers(0, HUGE))
def test_numbers_of_64_bits_fit_into_the_database(number: int) -> None:
    assert mirror_state._unsigned(mirror_state.to_signed(number)) == number
    assert -(1 << 63) <= mirror_state.to_signed(number) < 1 << 63


def test_a_stat_has_the_fields_seen_compares() -> None:
    assert Stat._fields[:5] == CachedStat._fields[:5]


MEMORY_OF_MANY = """
import sys
from pathlib import Path
from mirrord.mirror.mirror_state import State
from mirrord.mirror.tree.tenant_tree import Tree
from tests.unit.mirror.test_state import some

def anonymous_kib():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

trees = [Tree(root) for root in sorted(Path(sys.argv[1]).iterdir())]
State(trees[0]).close()  # what the process loads for the first one
before = anonymous_kib()
states = [State(tree) for tree in trees]
for state in states:
    state.store({f"Page {number}.md": some(number) for number in range(3)})
    state.set("ack", "1")
    assert len(state.load()) == 3
print((anonymous_kib() - before) / len(states))
"""
MANY_TREES = 100
MAX_KIB = 90  # 130 with the cache that SQLite takes by itself


def test_an_open_state_holds_little_memory_because_a_daemon_has_a_thousand(tmp_path: Path) -> None:
    for number in range(MANY_TREES):
        (tmp_path / f"tree-{number}").mkdir()
    completed = subprocess.run(
        [sys.executable, "-c", MEMORY_OF_MANY, str(tmp_path)], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert float(completed.stdout) < MAX_KIB


def test_many_files_are_stored_at_once_and_few_after_them(tree: Tree) -> None:
    opened, many = State(tree), {f"{number}.md": some(number) for number in range(5_000)}
    opened.store(many)
    opened.store({"0.md": many["1.md"]}, ["2.md"])
    expected = {**many, "0.md": many["1.md"]}
    del expected["2.md"]
    assert opened.load() == expected
    opened.close()
