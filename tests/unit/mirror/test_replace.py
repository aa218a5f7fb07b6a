import grp
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of, new_id
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror.tree import kernel, kernel_aio
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import displaced_files, replace, trash
from mirrord.mirror.write.journal import Journal, Leftover
from mirrord.mirror.write.replace import DisplacedSave, Written

ENTRY = new_id()


def put(tree: Tree, journal: Journal, data: bytes, over: bytes | None, path: str = "A.md") -> Written:
    expected = None if over is None else digest_of(over)
    return replace.write(tree, journal, path, data, replace.ExpectedFile(ENTRY, expected))


def remove(tree: Tree, journal: Journal, over: bytes) -> DisplacedSave | None:
    return replace.remove(
        tree,
        journal,
        "A.md",
        replace.ExpectedFile(ENTRY, digest_of(over)),
        replace.Removal("deleted in an app", title="Alpha"),
    )


def kept(root: Path) -> list[bytes]:
    """What the trash holds."""
    trash_directory = root / ".mirrord" / "trash"
    return [path.read_bytes() for path in trash_directory.glob("[wd].*") if path.suffix != ".json"]


def in_journal(root: Path) -> list[str]:
    return [path.name for path in (root / ".mirrord" / "tmp" / "daemon").iterdir()]


@pytest.mark.parametrize(("directory", "mode"), [(0o770, 0o660), (0o700, 0o660), (0o755, 0o664), (0o2775, 0o664)])
def test_readers_of_a_directory_may_read_a_new_file_in_it(
    tree: Tree, journal: Journal, root: Path, directory: int, mode: int
) -> None:
    root.chmod(directory)
    before = os.umask(0o007)
    written = put(tree, journal, b"new", None)
    os.umask(before)

    assert (root / "A.md").read_bytes() == b"new"
    assert written == Written(tree.stat("A.md"))
    assert stat.S_IMODE((root / "A.md").stat().st_mode) == mode
    assert in_journal(root) == []


@pytest.mark.parametrize(("directory", "mode"), [(0o770, 0o770), (0o755, 0o775), (0o711, 0o771)])
def test_readers_of_a_directory_may_pass_a_new_one_in_it(tree: Tree, root: Path, directory: int, mode: int) -> None:
    root.chmod(directory)
    before = os.umask(0o007)
    tree.make_directories("New/Inner")
    os.umask(before)
    assert [stat.S_IMODE((root / path).stat().st_mode) for path in ("New", "New/Inner")] == [mode, mode]


def test_a_new_file_replaces_nothing(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"theirs")
    (root / "B.md").symlink_to("nowhere")

    for path in ("A.md", "B.md"):
        with pytest.raises(Stale):
            put(tree, journal, b"new", None, path)
    assert (root / "A.md").read_bytes() == b"theirs"
    assert in_journal(root) == []


def test_a_replaced_file_goes_to_the_trash(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"old")

    written = put(tree, journal, b"new", b"old")

    assert (root / "A.md").read_bytes() == b"new"
    assert written == Written(tree.stat("A.md"))
    assert kept(root) == [b"old"]
    assert in_journal(root) == []


def test_a_file_that_is_not_as_expected_is_left_alone(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"their save")

    with pytest.raises(Stale, match="saved meanwhile"):
        put(tree, journal, b"new", b"old")
    with pytest.raises(Stale, match="no longer there"):
        put(tree, journal, b"new", b"old", "B.md")
    with pytest.raises(Stale, match="saved meanwhile"):
        remove(tree, journal, b"old")
    assert (root / "A.md").read_bytes() == b"their save"
    assert in_journal(root) == []


def test_a_file_open_for_writing_is_left_alone(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"old")

    with (root / "A.md").open("ab"):
        with pytest.raises(Busy):
            put(tree, journal, b"new", b"old")
        with pytest.raises(Busy):
            remove(tree, journal, b"old")
    assert (root / "A.md").read_bytes() == b"old"


@pytest.mark.parametrize("path", ["../A.md", "/A.md", "", "..", ".mirrord/id", ".mirrord/tmp/x.md"])
def test_nothing_outside_the_pages_is_written(tree: Tree, journal: Journal, path: str) -> None:
    with pytest.raises(Refused):
        put(tree, journal, b"new", None, path)


def test_links_are_neither_written_through_nor_replaced(
    tree: Tree, journal: Journal, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_bytes(b"old")
    (root / "A.md").symlink_to(tmp_path / "secret.md")
    (root / "folder").symlink_to(tmp_path)

    for path in ("A.md", "folder/secret.md"):
        with pytest.raises(Refused):
            put(tree, journal, b"new", b"old", path)
    with pytest.raises(Refused):
        put(tree, journal, b"new", None, "folder/new.md")
    assert (tmp_path / "secret.md").read_bytes() == b"old"
    assert not (tmp_path / "new.md").exists()


def test_a_missing_directory_is_not_made_up(tree: Tree, journal: Journal) -> None:
    with pytest.raises(FileNotFoundError):
        put(tree, journal, b"new", None, "missing/A.md")


def test_a_replacing_file_takes_mode_owner_and_attributes(tree: Tree, journal: Journal, root: Path) -> None:
    page = root / "A.md"
    page.write_bytes(b"old")
    page.chmod(0o604)
    with suppress(PermissionError):  # only root may give files away
        os.chown(page, 1234, 5678)
    os.setxattr(page, "user.colour", b"green")
    before = page.stat()

    put(tree, journal, b"new", b"old")

    after = page.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(page, "user.colour") == b"green"


def test_a_new_file_takes_the_group_of_a_shared_directory(tree: Tree, journal: Journal, root: Path) -> None:
    groups = [group for group in os.getgroups() if group != os.getegid()]
    group = groups[0] if groups else grp.getgrall()[-1].gr_gid
    try:
        os.chown(root, -1, group)
    except PermissionError:
        pytest.skip("this user is in one group only")
    root.chmod(0o2770)

    put(tree, journal, b"new", None)

    assert (root / "A.md").stat().st_gid == group


def test_a_removed_page_is_in_the_trash_with_what_it_was(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"old")

    assert remove(tree, journal, b"old") is None

    assert not (root / "A.md").exists()
    assert kept(root) == [b"old"]
    (item,) = trash.list_trash(tree)
    assert item.label.entry == ENTRY
    assert item.card is not None
    assert (item.card.path, item.card.title, item.card.reason) == ("A.md", "Alpha", "deleted in an app")


def test_writing_goes_on_after_somebody_deleted_the_private_directory(tree: Tree, journal: Journal, root: Path) -> None:
    put(tree, journal, b"one", None)
    (root / ".mirrord").rename(root / "gone")
    for path in sorted((root / "gone").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (root / "gone").rmdir()

    put(tree, journal, b"two", b"one")

    assert (root / "A.md").read_bytes() == b"two"
    assert kept(root) == [b"one"]


# What an editor does between our look and our write: done right before the swap.


class Intruder:
    """Acts once, at the last moment before a file leaves its place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def before(self, call: str, act: Callable[[], object]) -> None:
        original = getattr(kernel, call)

        def intruded(*arguments: object) -> None:
            self.monkeypatch.setattr(kernel, call, original)
            act()
            original(*arguments)

        self.monkeypatch.setattr(kernel, call, intruded)


@pytest.fixture
def intruder(monkeypatch: pytest.MonkeyPatch) -> Intruder:
    return Intruder(monkeypatch)


def save_by_rename(root: Path, data: bytes) -> None:
    (root / "A.md.new").write_bytes(data)
    (root / "A.md.new").rename(root / "A.md")


def everywhere(root: Path, written: Written | None = None) -> set[bytes]:
    """All bytes that can be found again."""
    texts = set(kept(root))
    with suppress(FileNotFoundError):
        texts.add((root / "A.md").read_bytes())
    if written and written.displaced and written.displaced.data is not None:
        texts.add(written.displaced.data)
    return texts


def displace(tree: Tree, journal: Journal, root: Path, intruder: Intruder) -> DisplacedSave:
    """A write that finds a save where the old file should have been."""
    (root / "A.md").write_bytes(b"old")
    if tree.can_exchange:
        intruder.before("exchange", lambda: save_by_rename(root, b"their save"))
    else:
        intruder.before("link", lambda: save_to_what_was_moved_aside(root, b"their save"))

    written = put(tree, journal, b"new", b"old")

    assert written.displaced is not None
    return written.displaced


def save_to_what_was_moved_aside(root: Path, data: bytes) -> None:
    (moved,) = [path for path in (root / ".mirrord/tmp/daemon").glob("d.*") if path.suffix != ".path"]
    moved.write_bytes(data)


def test_a_displaced_save_is_handed_over(tree: Tree, journal: Journal, root: Path, intruder: Intruder) -> None:
    displaced = displace(tree, journal, root, intruder)

    assert (root / "A.md").read_bytes() == b"new"
    assert displaced.data == b"their save"
    assert [leftover.digest for leftover in journal.leftovers()] == [digest_of(b"their save")]
    journal.dispose(displaced.name, keep=True)
    assert kept(root) == [b"their save"]
    assert journal.leftovers() == []


def test_a_tools_write_can_be_taken_back(tree: Tree, journal: Journal, root: Path, intruder: Intruder) -> None:
    displaced = displace(tree, journal, root, intruder)

    assert replace.retract(tree, journal, "A.md", displaced, ours=digest_of(b"new"))

    assert (root / "A.md").read_bytes() == b"their save"
    assert in_journal(root) == []


def test_one_more_save_during_a_retraction_is_kept_too(
    tree: Tree, journal: Journal, root: Path, intruder: Intruder
) -> None:
    displaced = displace(tree, journal, root, intruder)
    save_by_rename(root, b"second save")

    assert not replace.retract(tree, journal, "A.md", displaced, ours=digest_of(b"new"))

    texts = {(root / "A.md").read_bytes(), journal.read(displaced.name)}
    assert texts == {b"their save", b"second save"}


def test_a_save_found_after_moving_aside_is_put_back(
    tree: Tree, journal: Journal, root: Path, intruder: Intruder
) -> None:
    if tree.can_exchange:
        pytest.skip("names are exchanged instead")
    (root / "A.md").write_bytes(b"old")
    # the first rename is the journal's own
    intruder.before("rename", lambda: intruder.before("rename", lambda: save_by_rename(root, b"their save")))

    with pytest.raises(Stale):
        put(tree, journal, b"new", b"old")

    assert (root / "A.md").read_bytes() == b"their save"
    assert in_journal(root) == []


def test_a_save_into_the_free_name_stays_there(tree: Tree, journal: Journal, root: Path, intruder: Intruder) -> None:
    if tree.can_exchange:
        pytest.skip("names are exchanged instead")
    (root / "A.md").write_bytes(b"old")
    intruder.before("link", lambda: save_by_rename(root, b"their save"))

    with pytest.raises(Stale):
        put(tree, journal, b"new", b"old")

    assert (root / "A.md").read_bytes() == b"their save"
    assert kept(root) == [b"old"]
    assert in_journal(root) == []


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_what_took_the_files_place_gets_it_back(
    tree: Tree, journal: Journal, root: Path, intruder: Intruder, kind: str
) -> None:
    if not tree.can_exchange:
        pytest.skip("names cannot be exchanged")
    (root / "A.md").write_bytes(b"old")

    def take_place() -> None:
        (root / "A.md").rename(root / "elsewhere.md")
        make = {"directory": Path.mkdir, "link": lambda path: path.symlink_to("x"), "fifo": os.mkfifo}
        make[kind](root / "A.md")

    intruder.before("exchange", take_place)

    with pytest.raises(Stale, match="regular"):
        put(tree, journal, b"new", b"old")

    assert not stat.S_ISREG(os.lstat(root / "A.md").st_mode)
    assert in_journal(root) == []


def test_a_removal_meets_a_save_and_gives_it_back(tree: Tree, journal: Journal, root: Path, intruder: Intruder) -> None:
    (root / "A.md").write_bytes(b"old")
    intruder.before("rename", lambda: save_by_rename(root, b"their save"))

    with pytest.raises(Stale):
        remove(tree, journal, b"old")

    assert (root / "A.md").read_bytes() == b"their save"
    assert in_journal(root) == []


def test_a_removal_meets_two_saves_and_keeps_both(tree: Tree, journal: Journal, root: Path, intruder: Intruder) -> None:
    (root / "A.md").write_bytes(b"old")
    intruder.before("rename", lambda: save_by_rename(root, b"first save"))
    intruder.before("rename_new", lambda: save_by_rename(root, b"second save"))

    displaced = remove(tree, journal, b"old")

    assert displaced is not None
    assert displaced.data == b"first save"
    assert (root / "A.md").read_bytes() == b"second save"


def test_a_writer_that_does_not_let_go_leaves_its_file_in_the_journal(
    tree: Tree, journal: Journal, root: Path, intruder: Intruder, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tree.can_exchange:
        pytest.skip("a writer is noticed before")
    monkeypatch.setattr(displaced_files, "WRITER_PATIENCE_SECONDS", 0.05)
    (root / "A.md").write_bytes(b"old")
    streams = []
    intruder.before("exchange", lambda: streams.append((root / "A.md").open("r+b")))

    written = put(tree, journal, b"new", b"old")

    assert written.displaced is not None
    assert written.displaced.data is None
    streams[0].write(b"late save")
    streams[0].close()
    (leftover,) = journal.leftovers()
    assert leftover == Leftover(written.displaced.name, leftover.label, digest_of(b"late save"))
    assert leftover.label.expected == digest_of(b"old")


# What is done beside a write, and what is known before it.


def test_what_is_done_beside_a_write_finds_the_new_text_in_place(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"old")
    looks: list[bytes] = []

    def look() -> tuple[()]:
        looks.append((root / "A.md").read_bytes())
        return ()

    replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old")), also_sync=look)
    (root / "A.md").unlink()
    replace.write(tree, journal, "A.md", b"made", replace.ExpectedFile(ENTRY, None), also_sync=look)
    assert looks == [b"new", b"made"]


def test_nothing_is_done_beside_a_write_that_displaced_a_save(
    tree: Tree, journal: Journal, root: Path, intruder: Intruder
) -> None:
    (root / "A.md").write_bytes(b"old")
    if tree.can_exchange:
        intruder.before("exchange", lambda: save_by_rename(root, b"their save"))
    else:
        intruder.before("link", lambda: save_to_what_was_moved_aside(root, b"their save"))

    def fail() -> tuple[()]:
        raise AssertionError("done")

    written = replace.write(
        tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old")), also_sync=fail
    )
    assert written.displaced is not None


def test_what_fails_beside_a_write_leaves_the_new_text_and_what_it_replaced(
    tree: Tree, journal: Journal, root: Path
) -> None:
    (root / "A.md").write_bytes(b"old")

    def fail() -> tuple[()]:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old")), also_sync=fail)
    assert (root / "A.md").read_bytes() == b"new"
    assert b"old" in kept(root) or digest_of(b"old") in [leftover.digest for leftover in journal.leftovers()]


@pytest.mark.parametrize("save", ["by rename", "in place"])
def test_a_save_after_the_page_was_looked_at_is_noticed_before_the_write(
    tree: Tree, journal: Journal, root: Path, save: str
) -> None:
    (root / "A.md").write_bytes(b"old")
    earlier_stat = tree.stat("A.md")
    if save == "by rename":
        save_by_rename(root, b"sav")
    else:
        (root / "A.md").write_bytes(b"sav")
    with pytest.raises(Stale):
        replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old"), earlier_stat))
    assert (root / "A.md").read_bytes() == b"sav"


def test_a_save_that_no_stat_shows_is_found_after_the_write(tree: Tree, journal: Journal, root: Path) -> None:
    (root / "A.md").write_bytes(b"sav")
    earlier_stat = tree.stat("A.md")  # as if it had been taken of `old`, and nothing in it had changed
    if not (tree.can_exchange and tree.has_leases):
        with pytest.raises(Stale):
            replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old"), earlier_stat))
        return
    written = replace.write(tree, journal, "A.md", b"new", replace.ExpectedFile(ENTRY, digest_of(b"old"), earlier_stat))
    assert written.displaced is not None
    assert written.displaced.data == b"sav"


# Faults at every call that changes the tree.

CALLS = ("create", "write", "fsync", "rename", "rename_new", "exchange", "link", "unlink")


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
    """Let the call with this *number* fail; the calls made are listed."""
    call_log: list[str] = []
    monkeypatch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # every sync is a call
    for call in CALLS:
        original = getattr(kernel, call)

        def counted(*arguments: object, call: str = call, original: object = original) -> object:
            call_log.append(call)
            if len(call_log) == number:
                raise OSError(28, "No space left on device")
            assert callable(original)
            return original(*arguments)

        monkeypatch.setattr(kernel, call, counted)
    return call_log


@pytest.mark.parametrize("act", ["create", "replace", "remove"])
def test_an_error_at_any_call_leaves_old_or_new(
    tree: Tree, journal: Journal, root: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = 0
    for number in range(1, 30):
        old = f"old {number}".encode()
        with suppress(FileNotFoundError):
            (root / "A.md").unlink()
        if act != "create":
            (root / "A.md").write_bytes(old)
        with monkeypatch.context() as patch:
            call_log = fail_at(patch, number)
            try:
                _perform(act, tree, journal, old)
            except OSError:
                failed += 1
        texts = everywhere(root) | {journal.read(leftover.name) for leftover in journal.leftovers()}
        assert act == "create" or old in texts
        if (root / "A.md").exists():
            assert (root / "A.md").read_bytes() in (old, b"new")
        elif act == "replace":
            pytest.fail(f"the page is gone after {call_log}")
        if len(call_log) < number:
            break

    assert failed >= 4


def _perform(act: str, tree: Tree, journal: Journal, old: bytes) -> None:
    if act == "remove":
        remove(tree, journal, old)
    else:
        put(tree, journal, b"new", None if act == "create" else old)
