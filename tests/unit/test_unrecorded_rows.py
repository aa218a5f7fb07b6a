"""Which unrecorded page a file is, by its exact bytes: docs/design/sync.md, "Identity"."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId, Place, Row, digest_of, id_of_path
from mirrord.sync.observation import unrecorded_rows
from mirrord.sync.observation.file_identity import identify_files
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile
from mirrord.sync.observation.occupied_paths import OccupiedPaths
from tests.unit.test_identity import FRESH, TENANT, A, B, base, found, row

ONE, TWO = (id_of_path(TENANT, path) for path in ("One.md", "Two.md"))


def unrecorded(entry: EntryId, text: str, name: str = "x", *, deleted: bool = False) -> Row:
    return replace(row(entry, deleted=deleted), digest=digest_of(text.encode()), place=Place(None, name))


def owners(
    files: list[FoundFile],
    memory: EarlierState,
    more_rows: Iterable[Row] = (),
    earlier: Iterable[tuple[EntryId, str]] = (),
) -> dict[str, EntryId]:
    """The owners by all evidence and exact bytes. earlier: texts that rows had before."""
    fresh = (EntryId(UUID(int=number)) for number in count(FRESH))
    identified = identify_files(files, memory, TENANT, lambda: next(fresh))
    rows = unrecorded_rows.select_named_alike([*memory.rows.values(), *more_rows], files, memory, TENANT)
    known_texts: set[tuple[EntryId, Digest]] = {(each.entry, each.digest) for each in rows if each.digest is not None}
    known_texts |= {(entry, digest_of(text.encode())) for entry, text in earlier}
    open_files = unrecorded_rows.select_open_files(files, memory, identified, TENANT)
    contested = unrecorded_rows.find_contested(files, memory, identified, TENANT)
    matches = unrecorded_rows.match_exact_bytes(open_files, known_texts, contested, identified)
    return unrecorded_rows.reassign_files(identified, matches, lambda: next(fresh))


def known_rows(*rows: Row) -> EarlierState:
    return EarlierState([], {each.entry: each for each in rows})


def test_bytes_count_before_the_tombstones_of_the_paths() -> None:
    memory = known_rows(unrecorded(ONE, "one", deleted=True), unrecorded(TWO, "two", deleted=True))
    assert owners([found("One.md", "two"), found("Two.md", "one")], memory) == {"One.md": TWO, "Two.md": ONE}


def test_a_name_in_another_case_is_the_name() -> None:
    memory, other = known_rows(unrecorded(ONE, "one", deleted=True)), unrecorded(TWO, "two", "Two")
    files = [found("One.md", "two"), found("tWO.md", "one")]
    assert owners(files, memory, [other]) == {"One.md": TWO, "tWO.md": ONE}


def test_an_earlier_text_identifies_a_page_too() -> None:
    memory = known_rows(unrecorded(ONE, "one", deleted=True), unrecorded(TWO, "two, edited"))
    assert owners([found("One.md", "two"), found("Two.md", "one")], memory, earlier=[(TWO, "two")]) == {
        "One.md": TWO,
        "Two.md": ONE,
    }


def test_an_old_copy_at_its_own_path_stays() -> None:
    memory = known_rows(unrecorded(ONE, "new", deleted=True))
    assert owners([found("One.md", "old")], memory, earlier=[(ONE, "old")]) == {"One.md": ONE}


def test_a_file_whose_page_went_to_another_file_is_new() -> None:
    memory = known_rows(unrecorded(ONE, "one", deleted=True), unrecorded(TWO, "two", deleted=True))
    by_path = owners([found("One.md", "two"), found("Two.md", "other")], memory)
    assert by_path["One.md"] == TWO
    assert by_path["Two.md"].int >= FRESH


def test_bytes_in_two_files_or_of_two_rows_prove_nothing() -> None:
    memory = known_rows(unrecorded(ONE, "one", deleted=True), unrecorded(TWO, "two", deleted=True))
    files = [found("One.md", "two"), found("Two.md", "other"), found("Copy.md", "two")]
    assert owners(files, memory)["One.md"] == ONE
    same = [unrecorded(A, "two", "Two")]
    assert owners(files[:2], memory, same)["One.md"] == ONE


def test_a_copy_at_a_new_path_leaves_the_edited_page_alone() -> None:
    for deleted in (False, True):
        memory = known_rows(unrecorded(ONE, "one", deleted=deleted))
        by_path = owners([found("Copy.md", "one"), found("One.md", "one, edited")], memory)
        assert by_path["Copy.md"] == id_of_path(TENANT, "Copy.md")


def test_rows_of_other_names_are_no_evidence() -> None:
    memory = known_rows(unrecorded(ONE, "one", deleted=True))
    assert owners([found("One.md", "template")], memory, [unrecorded(B, "template", "Elsewhere")]) == {"One.md": ONE}


def test_recorded_bytes_are_a_copy() -> None:
    memory = EarlierState([base(A, "a.md", "two")], {ONE: unrecorded(ONE, "one", deleted=True)})
    assert owners([found("One.md", "two")], memory, [unrecorded(TWO, "two", "One")]) == {"One.md": ONE}


def test_an_id_counts_first() -> None:
    memory = known_rows(unrecorded(ONE, "one", deleted=True), unrecorded(TWO, "two", deleted=True))
    files = [found("One.md", "two", claimed=B), found("Two.md", "one")]
    assert owners(files, memory)["One.md"] == B


def test_a_row_whose_path_was_taken_is_known_by_its_bytes_alone() -> None:
    files = [found("Box/Other name.md", "one"), found("Copy.md", "two"), found("Copy (2).md", "two")]
    awaited = {ONE: digest_of(b"one"), TWO: digest_of(b"two")}
    assert unrecorded_rows.match_awaited(files, awaited) == {"Box/Other name.md": ONE}
    assert unrecorded_rows.match_awaited(files, awaited | {A: digest_of(b"one")}) == {}


def test_a_taken_path_needs_a_scan_that_began_afterwards() -> None:
    paths = OccupiedPaths()
    assert not paths.needs_scan(ONE)
    paths.note(ONE, 10.0)
    paths.note_scan(9.0)
    assert paths.needs_scan(ONE)
    paths.note_scan(11.0)
    assert not paths.needs_scan(ONE)
    paths.note(ONE, 12.0)
    assert paths.needs_scan(ONE)
    paths.forget(ONE)
    assert not paths.needs_scan(ONE)
