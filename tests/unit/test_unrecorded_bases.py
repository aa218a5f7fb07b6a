"""Which noted bases complete what Postgres has: docs/design/sync.md, "Identity"."""

from dataclasses import replace

import pytest

from mirrord.domain.entry import NO_TEXT, Base, EntryId, Kind, Place, Row, digest_of
from mirrord.mirror.state_file import cached_stat
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tree_scan import Scan
from mirrord.sync.observation.unrecorded_bases import select_missing, select_present
from tests.unit.test_identity import A, B, base, row

NOTE = base(A, "One.md")


def stat(inode: int) -> Stat:
    return Stat(8, inode, 4, 0, 0, 0o100644, 1)


def row_of(note: Base, *, version: int, text: str = "text") -> Row:
    return replace(row(note.entry), version=version, digest=digest_of(text.encode()))


@pytest.mark.parametrize(
    ("scanned", "is_present"),
    [
        (Scan(files={"One.md": stat(9)}), True),
        (Scan(unchanged={"One.md"}), True),
        (Scan(files={"Named.md": stat(1)}), True),
        (Scan(files={"Named.md": stat(9)}), False),
        (Scan(), False),
    ],
    ids=["saved_as_another_file", "as_written", "renamed", "another_file", "gone"],
)
def test_a_noted_file_is_present_at_its_path_or_under_another_name(scanned: Scan, is_present: bool) -> None:
    written_file = NOTE, cached_stat(stat(1), NOTE.digest, A)
    assert select_present([written_file], scanned) == ([NOTE] if is_present else [])


@pytest.mark.parametrize(
    ("scanned", "is_present"),
    [(Scan(directories={"Box": stat(9)}), True), (Scan(files={"Box": stat(9)}), False), (Scan(), False)],
    ids=["made", "a_file", "not_made"],
)
def test_a_noted_directory_is_present_at_its_path(scanned: Scan, is_present: bool) -> None:
    folder = Base(A, Kind.FOLDER, "Box", Place(None, "Box"), 1, NO_TEXT, None)
    assert select_present([(folder, None)], scanned) == ([folder] if is_present else [])


def test_a_renamed_file_whose_inode_is_not_known_is_not_present() -> None:
    assert select_present([(NOTE, None)], Scan(files={"Named.md": stat(1)})) == []


@pytest.mark.parametrize(
    ("bases", "rows", "is_missing"),
    [
        ([], [row_of(NOTE, version=1)], True),
        ([], [row_of(NOTE, version=2, text="an app's")], True),
        ([], [replace(row_of(NOTE, version=2), deleted=True)], True),
        ([NOTE], [row_of(NOTE, version=1)], False),
        ([base(B, "One.md")], [row_of(NOTE, version=1)], False),
        ([], [], False),
        ([], [replace(row_of(NOTE, version=2), purged=True)], False),
        ([], [row_of(NOTE, version=1, text="of a backup")], False),
        ([], [replace(row_of(NOTE, version=2), kind=base(A, "One", None).kind)], False),
    ],
    ids=[
        "not_recorded",
        "edited_by_an_app",
        "deleted_by_an_app",
        "recorded",
        "path_of_another_entry",
        "without_a_row",
        "purged",
        "database_from_a_backup",
        "made_a_folder",
    ],
)
def test_a_noted_base_is_stored_if_postgres_has_its_row_and_neither_entry_nor_path(
    bases: list[Base], rows: list[Row], is_missing: bool
) -> None:
    rows_of_entries: dict[EntryId, Row] = {each.entry: each for each in rows}
    assert select_missing([NOTE], bases, rows_of_entries) == ([NOTE] if is_missing else [])
