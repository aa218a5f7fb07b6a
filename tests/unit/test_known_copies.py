"""Which new files count as copies: those that came while the original was known and in its place."""

from uuid import UUID

import pytest

from mirrord.db.content.copied_entries import Copy
from mirrord.domain.entry import EntryId
from mirrord.sync.observation.copied_files import pair_with_copies
from mirrord.sync.observation.identity_evidence import COPY_SECONDS, MAX_COPIES, EarlierState, KnownCopies
from tests.unit.test_identity import A, B, base, found

ORIGINAL = base(A, "Old.md")


def noted(memory: EarlierState, path: str = "New.md", entry: EntryId = B) -> KnownCopies:
    copies = KnownCopies()
    copies.note([found(path)], {path: entry}, memory, 0.0)
    return copies


def test_a_new_file_with_the_bytes_of_a_known_one_is_a_copy() -> None:
    assert noted(EarlierState([ORIGINAL])).copies_of([A]) == {B: {A}}


def test_a_file_whose_original_is_gone_already_is_no_copy() -> None:
    assert noted(EarlierState([ORIGINAL], missing_paths=frozenset({"Old.md"}))).copies_of([A]) == {}


def test_files_that_come_together_are_no_copies_of_each_other() -> None:
    copies = KnownCopies()
    copies.note([found("One.md"), found("Two.md")], {"One.md": A, "Two.md": B}, EarlierState([]), 0.0)
    assert copies.copies_of([A, B]) == {}


def test_a_known_file_that_got_the_bytes_of_another_is_no_copy() -> None:
    assert noted(EarlierState([ORIGINAL, base(B, "New.md", "other")])).copies_of([A]) == {}


def test_an_attachment_is_no_copy_of_a_page() -> None:
    assert noted(EarlierState([ORIGINAL]), "assets/New.png").copies_of([A]) == {}


def test_a_copy_of_long_ago_is_forgotten() -> None:
    copies = noted(EarlierState([ORIGINAL]))
    copies.note([], {}, EarlierState([]), COPY_SECONDS + 1)
    assert copies.copies_of([A]) == {}


def test_copies_without_number_do_not_take_memory_without_end() -> None:
    memory, copies = EarlierState([ORIGINAL]), KnownCopies()
    for number in range(MAX_COPIES + 10):
        copies.note([found("New.md")], {"New.md": EntryId(UUID(int=number + 100))}, memory, 0.0)
    assert len(copies.copies_of([A])) == MAX_COPIES


@pytest.mark.parametrize(
    ("path", "originals", "is_paired"),
    [
        pytest.param("Other.md", {A}, True, id="one possible original, another name"),
        pytest.param("Moved/Old.md", {A, UUID(int=7)}, True, id="two possible originals, the same name"),
        pytest.param("Other.md", {A, UUID(int=7)}, False, id="two possible originals, another name"),
    ],
)
def test_a_lost_file_takes_the_place_of_a_copy_that_is_surely_its_own(
    path: str, originals: set[EntryId], is_paired: bool
) -> None:
    copy = Copy(ORIGINAL.digest, ORIGINAL.claimed, path, B)
    pairs = pair_with_copies([ORIGINAL], [copy], {B: frozenset(originals)}, {})
    assert pairs == ({A: copy} if is_paired else {})
