"""Exporting into directories that hold nothing, an earlier export, other people's files, or traps."""

import fcntl
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of
from mirrord.errors import Busy, Damaged, Refused, UserError
from mirrord.mirror.export import export_directory, export_files
from mirrord.mirror.export.export_directory import Tally
from mirrord.mirror.export.export_files import EXPORT_DIRECTORY, Manifest
from mirrord.mirror.tree import kernel
from tests.unit.kills import killed_at

Files = dict[str, bytes]

BEFORE: Files = {"A.md": b"a", "Gone.md": b"gone", "Old/B.md": b"b", "Work/C.md": b"c", "Work/assets/d": b"d"}
AFTER: Files = {"A.md": b"changed", "New/B.md": b"b", "Work/C.md": b"c", "Work/assets/d/e": b"e"}
FOLDERS = ["Empty", "Empty/Deeper"]


def export(root: Path, files: Files, folders: Sequence[str] = (), *, force: bool = False, tenant: str = "1") -> Tally:
    """What an export of rows does, whatever it has the bytes from."""
    facts = Manifest("acme", tenant, 1, "2026-01-31", folders=folders)
    with export_directory.open_export(root, facts, force=force) as out:
        out.remove_others(files.keys())
        out.make_folders()
        for path, data in files.items():
            if out.needs_write(path, digest_of(data)):
                out.write(path, data, digest_of(data))
        out.finish({})
    return out.tally


def shown(root: Path) -> dict[str, bytes]:
    """Every file but those of the export itself."""
    paths = (path for path in root.rglob("*") if EXPORT_DIRECTORY not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def directories(root: Path) -> set[str]:
    paths = (path for path in root.rglob("*") if EXPORT_DIRECTORY not in path.parts)
    return {path.relative_to(root).as_posix() for path in paths if path.is_dir()}


def facts_of(root: Path) -> Manifest:
    return export_files.decode_manifest((root / export_files.MANIFEST_PATH).read_bytes())


def test_a_tree_is_written_verified_and_brought_up_to_date(tmp_path: Path) -> None:
    root = tmp_path / "out"
    first = export(root, BEFORE, ["Box"])
    assert (first.written, first.same, first.left) == (5, 0, [])
    assert shown(root) == BEFORE
    assert (root / "Box").is_dir()
    assert facts_of(root).complete
    assert digest_of((root / export_files.FILE_LIST_PATH).read_bytes()).hex() == facts_of(root).digest
    assert stat_modes(root) == {0o700}

    again = export(root, AFTER, FOLDERS)

    assert (again.written, again.same, again.removed, again.left) == (3, 1, 3, [])
    assert shown(root) == AFTER
    assert directories(root) == {"New", "Work", "Work/assets", "Work/assets/d", *FOLDERS}
    listed = dict(export_files.parse_lines((root / export_files.FILE_LIST_PATH).read_bytes().splitlines(keepends=True)))
    assert listed == {path: digest_of(data) for path, data in AFTER.items()}


def stat_modes(root: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in (root, root / EXPORT_DIRECTORY)}


def test_what_was_exported_already_is_not_written_again(tmp_path: Path) -> None:
    export(tmp_path / "out", BEFORE)
    stats = {path: kernel.stat_of((tmp_path / "out" / path).stat()) for path in BEFORE}  # without when it was read

    again = export(tmp_path / "out", BEFORE)

    assert (again.written, again.same, again.removed) == (0, 5, 0)
    assert {path: kernel.stat_of((tmp_path / "out" / path).stat()) for path in BEFORE} == stats


def export_after(root: Path) -> None:
    export(root, AFTER, FOLDERS)


@pytest.mark.usefixtures("unsynced")
def test_killed_at_any_call_the_next_export_goes_on_and_ends_equal(tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        root = tmp_path / f"run-{number}"
        export(root, BEFORE, ["Box"])
        was_killed = killed_at(number, root, export_after)
        assert all(data in (BEFORE.get(path), AFTER.get(path)) for path, data in shown(root).items())
        tally = export(root, AFTER, FOLDERS)
        assert tally.left == []
        assert shown(root) == AFTER
        assert facts_of(root).complete
        assert list((root / export_files.BUILD_PATH).iterdir()) == []
        if not was_killed:
            break
    assert number > 25


def test_what_somebody_changed_or_put_there_stays_and_is_told(tmp_path: Path) -> None:
    root = tmp_path / "out"
    export(root, BEFORE)
    (root / "A.md").write_bytes(b"edited")
    (root / "Gone.md").write_bytes(b"edited too")
    (root / "New").mkdir()
    (root / "New/B.md").write_bytes(b"somebody's")
    (root / "Old/Mine.md").write_bytes(b"mine")

    tally = export(root, AFTER)

    assert {item.path for item in tally.left} == {"A.md", "Gone.md", "New/B.md"}
    theirs = {"A.md": b"edited", "Gone.md": b"edited too", "New/B.md": b"somebody's", "Old/Mine.md": b"mine"}
    assert shown(root) == {"Work/C.md": b"c", "Work/assets/d/e": b"e"} | theirs
    assert not facts_of(root).complete
    (root / "A.md").unlink()
    (root / "New/B.md").rename(root / "New/Mine.md")
    assert {item.path for item in export(root, AFTER).left} == {"Gone.md"}


def test_a_save_in_the_moment_of_replacing_goes_back_into_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "out"
    export(root, BEFORE)
    original = kernel.rename_new

    def saved_before(source_in: int, source: str, target_in: int, target: str) -> None:
        if source in ("A.md", "Gone.md"):
            (root / source).write_bytes(b"saved just now")
        original(source_in, source, target_in, target)

    monkeypatch.setattr(kernel, "rename_new", saved_before)
    tally = export(root, AFTER)

    assert {item.path for item in tally.left} == {"A.md", "Gone.md"}
    assert shown(root)["A.md"] == shown(root)["Gone.md"] == b"saved just now"


def test_a_save_that_a_dead_export_had_taken_out_of_its_place_is_told_and_stays(tmp_path: Path) -> None:
    root = tmp_path / "out"
    export(root, BEFORE)
    (root / export_files.BUILD_PATH / "w.1").write_bytes(b"somebody's")
    (root / export_files.BUILD_PATH / "w.2").write_bytes(BEFORE["A.md"])
    (root / export_files.BUILD_PATH / "p.7").write_bytes(b"half of")

    (item,) = export(root, BEFORE).left

    assert item.path == f"{EXPORT_DIRECTORY}/new/w.1"
    assert [path.name for path in (root / export_files.BUILD_PATH).iterdir()] == ["w.1"]


def test_a_directory_with_other_things_is_refused_and_merged_only_by_force(tmp_path: Path) -> None:
    root = tmp_path / "out"
    root.mkdir()
    (root / "C.md").write_bytes(b"mine")
    (root / "A.md").write_bytes(b"a")
    with pytest.raises(Refused, match=r"not empty.*--force"):
        export(root, BEFORE)
    assert sorted(path.name for path in root.iterdir()) == ["A.md", "C.md"]

    tally = export(root, BEFORE | {"C.md": b"theirs"}, force=True)

    assert (tally.written, tally.same, [item.path for item in tally.left]) == (4, 1, ["C.md"])
    assert shown(root) == BEFORE | {"C.md": b"mine"}
    assert export(root, {}).removed == 5  # what was there and equal counts as exported; what differs never does
    assert shown(root) == {"C.md": b"mine"}


def test_other_tenants_exports_mirrors_links_and_unreadable_manifests_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "out"
    export(root, BEFORE)
    with pytest.raises(Refused, match="another tenant"):
        export(root, AFTER, force=True, tenant="2")
    (tmp_path / "link").symlink_to(root)
    with pytest.raises(UserError, match="symbolic link"):
        export(tmp_path / "link", AFTER)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError):
        export(tmp_path / "file", AFTER)
    (tmp_path / "mirror/.mirrord").mkdir(parents=True)
    with pytest.raises(UserError, match="where mirrord works"):
        export(tmp_path / "mirror/acme/Work", AFTER)
    (root / export_files.MANIFEST_PATH).write_bytes(b"torn")
    with pytest.raises(Damaged, match="--force"):
        export(root, AFTER)
    assert shown(root) == BEFORE


def test_one_export_at_a_time_writes_into_a_directory(tmp_path: Path) -> None:
    export(tmp_path, {})
    descriptor = os.open(tmp_path / EXPORT_DIRECTORY, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(Busy, match="Another export"):
            export(tmp_path, BEFORE)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("is_known", [True, False], ids=["after an export", "with other things"])
def test_traps_in_the_target_lead_nowhere(tmp_path: Path, is_known: bool) -> None:
    root, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    (outside / "C.md").write_bytes(b"precious")
    root.mkdir()
    if is_known:
        export(root, {"Work/C.md": b"c", "A.md": b"a"})
        (root / "Work/C.md").unlink()
        (root / "Work").rmdir()
        (root / "A.md").unlink()
    (root / "Work").symlink_to(outside)  # a directory
    (root / "A.md").symlink_to(outside / "C.md")  # a file
    (root / "Old").write_bytes(b"a file")  # in place of a directory
    (root / "Gone.md").mkdir()  # a directory in place of a file
    os.mkfifo(root / "Pipe.md")

    tally = export(root, BEFORE | {"Pipe.md": b"p"}, ["Work/Sub"], force=True)

    paths = {"Work/C.md", "Work/assets/d", "A.md", "Old/B.md", "Gone.md", "Pipe.md", "Work/Sub"}
    assert {item.path for item in tally.left} == paths
    assert shown(outside) == {"C.md": b"precious"}
    assert (root / "Old").read_bytes() == b"a file"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=False).returncode:
        pytest.skip("mounting needs root")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_loses_nothing_and_the_next_export_goes_on(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_directory, "_BATCH_FILES", 3)
    files = {f"Page {number}.md": bytes([number]) * 100_000 for number in range(1, 9)}
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    with pytest.raises(OSError, match="No space left"):
        export(small_disk, files, force=True)
    exported = {path: data for path, data in shown(small_disk).items() if path != "ballast"}
    assert exported
    assert exported.items() <= files.items()
    ballast.unlink()

    tally = export(small_disk, files)

    assert (tally.same, tally.left) == (len(exported), [])
    assert shown(small_disk) == files


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_OPENAT2", 99_999)
    monkeypatch.setattr(kernel, "_RENAMEAT2", {})


@pytest.mark.usefixtures("lacking")
def test_kernels_without_newer_calls_do_too(tmp_path: Path) -> None:
    test_a_tree_is_written_verified_and_brought_up_to_date(tmp_path)
    test_what_somebody_changed_or_put_there_stays_and_is_told(tmp_path / "more")
