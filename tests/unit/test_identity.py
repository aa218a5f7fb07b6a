"""Which entry a file is: docs/design/sync.md, "Identity", one kind of evidence after the other."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import NO_TEXT, Base, Digest, EntryId, Kind, Place, Row, TenantId, digest_of, id_of_path
from mirrord.mirror.tree.tree_layout import spot_of_directory, spot_of_file
from mirrord.sync.observation.file_identity import identify_files
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile, Inode
from mirrord.sync.observation.renames import select_unproven

TENANT = TenantId(UUID(int=99))
A, B, C = (EntryId(UUID(int=number)) for number in (1, 2, 3))
FRESH = 1_000  # new ids count up from here
NO_INODE = (0, 0)


def found(path: str, text: str | None = "text", *, claimed: str | EntryId | None = None, inode: int = 0) -> FoundFile:
    """Something at *path*; text None: a directory."""
    spot = spot_of_directory(path) if text is None else spot_of_file(path)
    assert spot is not None
    digest = NO_TEXT if text is None else digest_of(text.encode())
    data = None if text is None else text.encode()
    return FoundFile(path, spot, digest, str(claimed) if claimed else None, (8, inode) if inode else NO_INODE, data)


def base(entry: EntryId, path: str, text: str | None = "text", *, claimed: str | EntryId | None = None) -> Base:
    """What both sides agreed on; text None: a folder."""
    was = found(path, text)
    place = Place(None, was.spot.name, was.spot.index)
    return Base(entry, was.spot.kind, path, place, 1, was.digest, str(claimed) if claimed else None)


def row(entry: EntryId, *, kind: Kind = Kind.PAGE, deleted: bool = False) -> Row:
    return Row(entry, kind, Place(None, "x"), True, 1, digest_of(b""), deleted)


def owners(
    founds: Iterable[FoundFile],
    bases: Iterable[Base] = (),
    *,
    missing: Iterable[str] = (),
    inodes: Mapping[int, str] | None = None,
    rows: Iterable[Row] = (),
    texts: Mapping[EntryId, str] | None = None,
) -> dict[str, EntryId]:
    """What `identify` says. inodes: where each was seen earlier. texts: the former ones that were read."""
    old_path: dict[Inode, str] = {(8, inode): path for inode, path in (inodes or {}).items()}
    memory = EarlierState(list(bases), {row.entry: row for row in rows}, frozenset(missing), old_path)
    memory.base_texts = texts or {}
    fresh = (EntryId(UUID(int=number)) for number in count(FRESH))
    return identify_files(founds, memory, TENANT, lambda: next(fresh))


def is_new(entry: EntryId, path: str) -> bool:
    return entry == id_of_path(TENANT, path) or entry.int >= FRESH


# Evidence 1 and 3: the path


@pytest.mark.parametrize("claimed", [None, A, "zettel-7"])
def test_an_edited_file_stays_what_it_was(claimed: str | None) -> None:
    assert owners([found("a.md", "new", claimed=claimed)], [base(A, "a.md", claimed=claimed)]) == {"a.md": A}


@pytest.mark.parametrize("claimed", [None, "zettel-7", C])
def test_a_file_whose_id_line_was_changed_stays_the_entry_of_its_path(claimed: str | None) -> None:
    assert owners([found("a.md", claimed=claimed)], [base(A, "a.md", claimed=A)]) == {"a.md": A}


def test_the_path_counts_more_than_the_inode_an_editor_left() -> None:
    bases = [base(A, "a.md", "a"), base(B, "b.md", "b")]
    assert owners([found("a.md", "b", inode=2)], bases, missing=["b.md"], inodes={2: "b.md"}) == {"a.md": A}


# Evidence 2: the id in the file


def test_a_file_that_carries_an_id_is_that_entry_wherever_it_goes() -> None:
    bases = [base(A, "a.md", claimed=A)]
    assert owners([found("deep/b.md", "new", claimed=A)], bases, missing=["a.md"]) == {"deep/b.md": A}


def test_two_files_that_carry_ids_and_change_places_stay_what_they_are() -> None:
    bases = [base(A, "a.md", "a", claimed=A), base(B, "b.md", "b", claimed=B)]
    founds = [found("a.md", "b", claimed=B), found("b.md", "a", claimed=A)]
    assert owners(founds, bases, missing=["a.md", "b.md"]) == {"a.md": B, "b.md": A}


def test_an_unknown_id_in_a_new_file_becomes_its_id() -> None:
    assert owners([found("a.md", claimed=C)], [base(A, "b.md")]) == {"a.md": C}


def test_an_id_that_only_postgres_knows_is_taken_up() -> None:
    """A deleted page whose file comes back, or one that another mirror made."""
    assert owners([found("a.md", claimed=C)], rows=[row(C, deleted=True)]) == {"a.md": C}


@pytest.mark.parametrize("rows", [[], [row(C, deleted=True)]], ids=["unknown", "deleted"])
@pytest.mark.parametrize("text", ["text", "new"])
def test_a_page_whose_file_got_an_id_that_is_not_its_own_is_known_by_it(text: str, rows: list[Row]) -> None:
    bases = [base(A, "a.md", claimed=C)]
    assert owners([found("deep/a.md", text, claimed=C)], bases, missing=["a.md"], rows=rows) == {"deep/a.md": A}
    assert owners([found("deep/a.md", text, claimed=C)], bases, rows=rows) == {"deep/a.md": C}


def test_of_pages_whose_files_got_one_id_inode_and_bytes_tell_which_one_it_is() -> None:
    bases = [base(A, "a.md", "a", claimed=C), base(B, "b.md", "b", claimed=C)]
    founds = [found("x.md", "b", claimed=C), found("y.md", "new", claimed=C, inode=1)]
    assert owners(founds, bases, missing=["a.md", "b.md"], inodes={1: "a.md"}) == {"x.md": B, "y.md": A}
    assert owners([found("z.md", "other", claimed=C)], bases, missing=["a.md", "b.md"]) == {"z.md": C}


def test_an_id_that_belongs_to_an_attachment_is_no_claim_of_a_page() -> None:
    assert is_new(owners([found("a.md", claimed=C)], rows=[row(C, kind=Kind.ATTACHMENT)])["a.md"], "a.md")


def test_an_id_that_is_no_uuid_is_the_users_own() -> None:
    assert owners([found("b.md", claimed="7")], [base(A, "a.md", claimed="7")]) == {"b.md": id_of_path(TENANT, "b.md")}


def test_a_new_file_with_the_id_of_a_file_that_is_still_there_is_a_new_page() -> None:
    result = owners(
        [found("a.md", claimed=A), found("copy.md", claimed=A)], [base(A, "a.md", claimed=A)], inodes={1: "a.md"}
    )
    assert result["a.md"] == A
    assert is_new(result["copy.md"], "copy.md")


def test_a_copy_seen_alone_does_not_take_the_id_of_the_file_that_is_still_there() -> None:
    assert is_new(owners([found("copy.md", claimed=A)], [base(A, "a.md", claimed=A)])["copy.md"], "copy.md")


# Evidence 4 and 5: the inode, the bytes


PAIR = [base(A, "a.md", "alpha"), base(B, "b.md", "beta")]


def test_two_files_without_ids_that_change_names_stay_what_they_are() -> None:
    swapped = [found("a.md", "beta", inode=2), found("b.md", "alpha", inode=1)]
    assert owners(swapped, PAIR, inodes={1: "a.md", 2: "b.md"}) == {"a.md": B, "b.md": A}
    assert owners(swapped, PAIR, inodes={}) == {"a.md": B, "b.md": A}


def test_files_that_changed_names_stay_what_they_are_if_one_of_them_was_edited() -> None:
    swapped = [found("a.md", "edited", inode=2), found("b.md", "alpha", inode=1)]
    assert owners(swapped, PAIR, inodes={1: "a.md", 2: "b.md"}) == {"a.md": B, "b.md": A}


TEXTS = {A: "alpha says what only alpha says\n", B: "beta says what only beta says\n"}
READ_PAIR = [base(entry, path, TEXTS[entry]) for entry, path in ((A, "a.md"), (B, "b.md"))]


def test_swapped_files_stay_what_they_are_if_one_was_edited_and_moved_by_copying() -> None:
    swapped = [found("a.md", TEXTS[B], inode=2), found("Twin/b.md", f"{TEXTS[A]}more\n", inode=9)]
    inodes = {1: "a.md", 2: "b.md"}
    assert owners(swapped, READ_PAIR, missing=["b.md"], inodes=inodes, texts=TEXTS) == {"a.md": B, "Twin/b.md": A}


def test_swapped_files_stay_what_they_are_if_both_were_rewritten_and_one_was_moved_by_copying() -> None:
    swapped = [found("a.md", f"{TEXTS[B]}more\n", inode=8), found("Twin/b.md", f"{TEXTS[A]}more\n", inode=9)]
    inodes = {1: "a.md", 2: "b.md"}
    assert owners(swapped, READ_PAIR, missing=["b.md"], inodes=inodes, texts=TEXTS) == {"a.md": B, "Twin/b.md": A}


@pytest.mark.parametrize("text", ["gamma says what only gamma says\n", "alpha\n"])
def test_a_file_renamed_over_another_beside_a_new_page_is_that_one(text: str) -> None:
    over = [found("a.md", TEXTS[B], inode=2), found("New.md", text, inode=9)]
    result = owners(over, READ_PAIR, missing=["b.md"], inodes={1: "a.md", 2: "b.md"}, texts=TEXTS)
    assert result["a.md"] == A
    assert is_new(result["New.md"], "New.md")


def test_an_edited_copy_of_a_page_that_took_the_text_of_a_lost_one_does_not_take_the_page_along() -> None:
    merged = [found("a.md", TEXTS[A] + TEXTS[B], inode=8), found("Copy.md", f"{TEXTS[A]}more\n", inode=9)]
    result = owners(merged, READ_PAIR, missing=["b.md"], inodes={1: "a.md", 2: "b.md"}, texts=TEXTS)
    assert result["a.md"] == A
    assert is_new(result["Copy.md"], "Copy.md")


def test_texts_are_asked_for_only_where_a_new_page_may_have_one() -> None:
    path_of_inode: dict[Inode, str] = {(8, 1): "a.md", (8, 2): "b.md"}
    memory = EarlierState(READ_PAIR, missing_paths=frozenset(["b.md"]), path_of_inode=path_of_inode)
    over, new = found("a.md", TEXTS[B], inode=2), found("New.md", "new", inode=9)
    assert select_unproven([over], memory) == {}
    assert select_unproven([over, new], memory).keys() == {A}
    assert select_unproven([replace(over, inode=(8, 8), digest=digest_of(b"rewritten")), new], memory).keys() == {A, B}


def test_a_chain_of_renames_ends_at_a_new_name() -> None:
    chain = [found("b.md", "alpha", inode=1), found("c.md", "beta", inode=2)]
    assert owners(chain, PAIR, missing=["a.md"], inodes={1: "a.md", 2: "b.md"}) == {"b.md": A, "c.md": B}


def test_a_directory_that_got_the_inode_of_a_page_that_is_gone_is_not_that_page() -> None:
    founds = [found("Crate", None, inode=1), found("Crate/leaf.md", "leaf")]
    result = owners(founds, [base(A, "a.md", "alpha")], missing=["a.md"], inodes={1: "a.md"})
    assert is_new(result["Crate"], "Crate")
    assert is_new(result["Crate/leaf.md"], "Crate/leaf.md")


def test_a_page_that_got_the_inode_of_a_folder_that_is_gone_is_not_that_folder() -> None:
    result = owners([found("b.md", "beta", inode=1)], [base(A, "Crate", None)], missing=["Crate"], inodes={1: "Crate"})
    assert is_new(result["b.md"], "b.md")


def test_inodes_that_saves_gave_round_say_nothing() -> None:
    edited = [found("a.md", "alpha edited", inode=2), found("b.md", "beta edited", inode=1)]
    assert owners(edited, PAIR, inodes={1: "a.md", 2: "b.md"}) == {"a.md": A, "b.md": B}


def test_inodes_given_round_by_saves_of_one_text_say_nothing_although_their_bytes_fit() -> None:
    """The file of a.md was saved and taken in before its old inode came to b.md with the same text."""
    bases = [base(A, "a.md", "same"), base(B, "b.md", "beta")]
    saved = [found("b.md", "same", inode=1), found("c.md", "other", inode=2)]
    result = owners(saved, bases, inodes={1: "a.md", 2: "b.md"})
    assert result["b.md"] == B
    assert is_new(result["c.md"], "c.md")


def test_what_was_known_before_bases_followed_a_swap_says_nothing() -> None:
    settled = [found("a.md", "alpha", inode=2), found("b.md", "beta", inode=1)]
    assert owners(settled, PAIR, inodes={1: "a.md", 2: "b.md"}) == {"a.md": A, "b.md": B}


def test_a_backup_under_another_name_does_not_take_the_page_along() -> None:
    backed_up = [found("a.md", "alpha edited", inode=9), found("a old.md", "alpha", inode=1)]
    result = owners(backed_up, PAIR, inodes={1: "a.md", 2: "b.md"})
    assert result["a.md"] == A
    assert is_new(result["a old.md"], "a old.md")


def test_a_file_renamed_over_another_is_that_one() -> None:
    over = [found("b.md", "alpha", inode=1)]
    assert owners(over, PAIR, missing=["a.md"], inodes={1: "a.md", 2: "b.md"}) == {"b.md": B}


def test_directories_changed_names_only_if_their_files_came_along() -> None:
    folders = [base(A, "a", None), base(B, "b", None), base(C, "a/x.md", "of a")]
    swapped = [found("a", None, inode=2), found("b", None, inode=1)]
    inodes = {1: "a", 2: "b", 3: "a/x.md"}
    with_file = [*swapped, found("b/x.md", "of a", inode=3)]
    assert owners(with_file, folders, missing=["a/x.md"], inodes=inodes) == {"a": B, "b": A, "b/x.md": C}
    assert owners(swapped, folders, inodes=inodes) == {"a": A, "b": B}


def test_a_renamed_file_is_known_by_its_inode_even_when_edited() -> None:
    bases = [base(A, "a.md", "old")]
    assert owners([found("b.md", "new", inode=1)], bases, missing=["a.md"], inodes={1: "a.md"}) == {"b.md": A}


def test_an_inode_that_was_used_again_while_its_old_path_lives_says_nothing() -> None:
    bases = [base(A, "a.md", "a")]
    result = owners([found("a.md", "a", inode=2), found("b.md", "b", inode=1)], bases, inodes={1: "a.md"})
    assert result["a.md"] == A
    assert is_new(result["b.md"], "b.md")


def test_bytes_that_only_one_file_has_tell_more_than_an_inode() -> None:
    """A new file may have got the number of a removed one."""
    copied = [found("new/a.md", "alpha", inode=2), found("new/b.md", "beta", inode=1)]
    result = owners(copied, PAIR, missing=["a.md", "b.md"], inodes={1: "a.md", 2: "b.md"})
    assert result == {"new/a.md": A, "new/b.md": B}


def test_of_several_lost_pages_with_the_same_bytes_the_inode_tells() -> None:
    bases = [base(A, "a.md", "same"), base(B, "b.md", "same")]
    moved = [found("x.md", "same", inode=2), found("y.md", "same", inode=1)]
    result = owners(moved, bases, missing=["a.md", "b.md"], inodes={1: "a.md", 2: "b.md"})
    assert result == {"x.md": B, "y.md": A}


def test_of_several_lost_pages_with_the_same_bytes_the_likest_path_tells_where_no_inode_does() -> None:
    bases = [base(A, "old/a.md", "same"), base(B, "old/b.md", "same")]
    moved = [found("new/b.md", "same"), found("new/a.md", "same")]
    result = owners(moved, bases, missing=["old/a.md", "old/b.md"])
    assert result == {"new/a.md": A, "new/b.md": B}


def test_a_renamed_directory_is_known_by_its_inode() -> None:
    bases = [base(A, "old", None)]
    assert owners([found("new", None, inode=1)], bases, missing=["old"], inodes={1: "old"}) == {"new": A}


def test_a_file_moved_from_another_disk_is_known_by_its_bytes() -> None:
    assert owners([found("b.md", "same")], [base(A, "a.md", "same")], missing=["a.md"]) == {"b.md": A}


def test_bytes_of_a_file_that_is_still_there_say_nothing() -> None:
    result = owners([found("a.md", "same"), found("b.md", "same")], [base(A, "a.md", "same")])
    assert result["a.md"] == A
    assert is_new(result["b.md"], "b.md")


def test_empty_files_are_not_taken_for_each_other() -> None:
    assert is_new(owners([found("b.md", "")], [base(A, "a.md", "")], missing=["a.md"])["b.md"], "b.md")


def test_directories_are_not_taken_for_each_other_for_having_no_bytes() -> None:
    assert is_new(owners([found("new", None)], [base(A, "old", None)], missing=["old"])["new"], "new")


def test_a_page_is_never_known_by_an_attachments_bytes_or_inode() -> None:
    bases = [base(A, "assets/note.md", "same")]
    founds = [found("note.md", "same", inode=1)]
    result = owners(founds, bases, missing=["assets/note.md"], inodes={1: "assets/note.md"})
    assert is_new(result["note.md"], "note.md")


def test_an_attachment_is_known_by_its_bytes() -> None:
    bases = [base(A, "assets/a.png", "bytes")]
    assert owners([found("x/assets/b.png", "bytes")], bases, missing=["assets/a.png"]) == {"x/assets/b.png": A}


# Several files that claim one entry


def copies() -> list[FoundFile]:
    return [found(f"{name}.md", name, claimed=A, inode=number) for number, name in enumerate("xyz", 11)]


def keeper(result: dict[str, EntryId]) -> list[str]:
    return [path for path, entry in result.items() if entry == A]


def test_of_copies_the_one_at_the_old_path_keeps_the_id() -> None:
    assert keeper(owners(copies(), [base(A, "z.md", "y", claimed=A)], inodes={11: "z.md"})) == ["z.md"]


def test_of_copies_elsewhere_the_one_with_the_old_inode_keeps_the_id() -> None:
    result = owners(copies(), [base(A, "old.md", "y", claimed=A)], missing=["old.md"], inodes={13: "old.md"})
    assert keeper(result) == ["z.md"]


def test_of_copies_with_new_inodes_the_one_with_the_old_bytes_keeps_the_id() -> None:
    assert keeper(owners(copies(), [base(A, "old.md", "y", claimed=A)], missing=["old.md"])) == ["y.md"]


@pytest.mark.parametrize("bases", [[], [base(A, "old.md", "other", claimed=A)]])
def test_of_copies_that_nothing_tells_apart_the_first_path_keeps_the_id(bases: list[Base]) -> None:
    result = owners(copies(), bases, missing=["old.md"])
    assert keeper(result) == ["x.md"]
    assert all(is_new(result[path], path) for path in ("y.md", "z.md"))


# Folders and their pages


@pytest.mark.parametrize("path", ["Work/_index.md", "Work.md"])
def test_a_folder_that_gets_a_page_file_stays_what_it_was(path: str) -> None:
    assert owners([found(path)], [base(A, "Work", None)]) == {path: A}


@pytest.mark.parametrize("path", ["Work/_index.md", "Work.md"])
def test_a_page_that_loses_its_file_while_its_directory_lives_stays_as_a_folder(path: str) -> None:
    assert owners([found("Work", None)], [base(A, path)], missing=[path]) == {"Work": A}


def test_a_directory_beside_its_living_page_does_not_take_its_id() -> None:
    result = owners([found("Work", None), found("Work.md")], [base(A, "Work.md")])
    assert result["Work.md"] == A
    assert is_new(result["Work"], "Work")


def test_a_page_that_moves_into_its_directory_stays_what_it_was() -> None:
    bases = [base(A, "Work.md", "text")]
    assert owners([found("Work/_index.md", "text")], bases, missing=["Work.md"]) == {"Work/_index.md": A}


# New entries


def test_a_new_file_gets_the_id_of_its_path_on_every_host() -> None:
    assert owners([found("a.md")]) == {"a.md": id_of_path(TENANT, "a.md")}


def test_a_deleted_page_of_the_same_path_lives_again() -> None:
    entry = id_of_path(TENANT, "a.md")
    assert owners([found("a.md")], rows=[row(entry, deleted=True)]) == {"a.md": entry}


@pytest.mark.parametrize("kind", [Kind.ATTACHMENT, Kind.RECORD])
def test_a_deleted_entry_of_another_sort_does_not(kind: Kind) -> None:
    entry = id_of_path(TENANT, "a.md")
    assert owners([found("a.md")], rows=[row(entry, kind=kind, deleted=True)])["a.md"].int == FRESH


def test_an_id_of_a_path_that_a_live_entry_elsewhere_holds_is_not_given_again() -> None:
    entry = id_of_path(TENANT, "a.md")
    assert owners([found("a.md")], rows=[row(entry)])["a.md"].int == FRESH
    assert owners([found("a.md")], [base(entry, "moved.md", "other")])["a.md"].int == FRESH


# Laws

_PATHS = ("a.md", "b.md", "c/_index.md", "c.md", "c", "c/d.md", "assets/x.png", "c/assets/x.md")
_TEXTS = ("", "one", "two")
_CLAIMS = (None, "7", str(A), str(B), str(C))


@st.composite
def founds(draw: st.DrawFn) -> FoundFile:
    path = draw(st.sampled_from(_PATHS))
    text = None if path == "c" else draw(st.sampled_from(_TEXTS))
    claimed = draw(st.sampled_from(_CLAIMS)) if path.endswith(".md") else None
    return found(path, text, claimed=claimed, inode=draw(st.integers(0, 4)))


@st.composite
def bases(draw: st.DrawFn) -> Base:
    was = draw(founds())
    text: Digest = was.digest
    agreed = replace(base(draw(st.sampled_from((A, B, C))), was.path, None if was.path == "c" else ""), digest=text)
    return replace(agreed, claimed=was.claimed, path=draw(st.sampled_from((was.path, None))))


@given(
    st.lists(founds(), unique_by=lambda item: item.path),
    st.lists(bases(), unique_by=(lambda item: item.entry, lambda item: item.path or item.entry)),
    st.sets(st.sampled_from(_PATHS)),
    st.dictionaries(st.integers(1, 4), st.sampled_from(_PATHS)),
    st.sets(st.sampled_from((A, B, C))),
    st.randoms(use_true_random=False),
)
def test_every_file_gets_an_entry_of_its_own_in_whatever_order_files_are_seen(
    files: list[FoundFile],
    bases: list[Base],
    missing: set[str],
    inodes: dict[int, str],
    rows: set[EntryId],
    chance: Random,
) -> None:
    tombstones = [row(entry, deleted=True) for entry in sorted(rows)]
    result = owners(files, bases, missing=missing, inodes=inodes, rows=tombstones)
    assert result.keys() == {item.path for item in files}
    assert len(set(result.values())) == len(result)
    shuffled = chance.sample(files, len(files))
    assert owners(shuffled, bases, missing=missing, inodes=inodes, rows=tombstones) == result


def test_of_two_copies_of_a_lost_page_the_one_of_its_name_is_the_page() -> None:
    """`cp -r Shelf Twin; rm -r Shelf`, and a copy of the page beside it, before anybody looked."""
    moved = owners(
        [found("Twin/Copy.md"), found("Twin/_index.md")], [base(A, "Shelf/_index.md")], missing=["Shelf/_index.md"]
    )
    assert moved["Twin/_index.md"] == A
    assert is_new(moved["Twin/Copy.md"], "Twin/Copy.md")
