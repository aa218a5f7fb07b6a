"""The short way to a file's owner: where it answers, all evidence gives the same answer."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from mirrord.domain.entry import Base, EntryId, MirrorId, UnreadableFile, digest_of, id_of_path
from mirrord.mirror.seen_files import Index
from mirrord.mirror.state_file import CachedStat
from mirrord.sync.observation.file_look import Looker
from mirrord.sync.observation.file_owners import FileOwners, find_owners
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile, KnownCopies
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.state_assembly import find_only_owner
from tests.support.laws import scale_examples
from tests.unit.test_identity import TENANT, A, B, C, base, found, row

NOTHING: Any = None  # in place of what only files or Postgres could answer: to ask it is an error
INODE = 7
PATHS = ("a.md", "A.md", "D/a.md", "D.md", "D/_index.md", "D/D.md", "assets/a.png", "D/assets/a.png")
TEXTS = ("", "text", "a text that is long enough\n", "a text that is long enough\nand more of it\n")
CLAIMS = (None, str(A), str(B), str(C), "zettel-7")
MOSTLY = st.sampled_from([True, True, True, False])
ENTRIES = (A, B, C, *(id_of_path(TENANT, path) for path in PATHS))


def look_at(*files: FoundFile, gone_paths: Iterable[str] = (), unknown: Iterable[str] = ()) -> LookResult:
    unknown_files = {path: UnreadableFile(path, "It is open.") for path in unknown}
    return LookResult({file.path: file for file in files}, gone_paths=set(gone_paths), unknown_files=unknown_files)


def index_of(paths: Iterable[str]) -> Index:
    records = {path: CachedStat(8, 100 + n, 1, 1, 1, digest_of(b""), A) for n, path in enumerate(sorted(paths))}
    return Index(records)


def known(base: Base, *others: Base, missing: Iterable[str] = (), inodes: dict[int, str] | None = None) -> EarlierState:
    old_path = {(8, inode): path for inode, path in (inodes or {}).items()}
    return EarlierState([base, *others], {}, frozenset(missing), old_path)


def owners_by_all_evidence(look: LookResult, memory: EarlierState, index: Index) -> tuple[FileOwners, KnownCopies]:
    looker = Looker(NOTHING, index, NOTHING)
    sides = Sides("demo", TENANT, MirrorId(UUID(int=5)), NOTHING, NOTHING, NOTHING, looker, NOTHING)
    return asyncio.run(find_owners(NOTHING, sides, look, memory, {})), sides.known_copies


@st.composite
def earlier_states(draw: st.DrawFn, files: Sequence[FoundFile]) -> EarlierState:
    """Bases, rows and hints, often with a base that agrees with the first of *files*."""
    paths = draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=3))
    paths = list(dict.fromkeys([*([files[0].path] if draw(MOSTLY) else []), *paths]))
    bases = []
    for path, entry in zip(paths, draw(st.permutations(ENTRIES)), strict=False):
        is_agreed = path == files[0].path and draw(MOSTLY)
        claimed = files[0].claimed if is_agreed else draw(st.sampled_from(CLAIMS))
        known_base = base(entry, path, draw(st.sampled_from(TEXTS)), claimed=claimed)
        bases.append(known_base if draw(MOSTLY) else replace(known_base, path=None))
    return EarlierState(
        bases,
        {entry: row(entry, deleted=draw(st.booleans())) for entry in ENTRIES if draw(st.booleans())},
        frozenset() if draw(MOSTLY) else frozenset({draw(st.sampled_from(paths or PATHS))}),
        {} if draw(st.booleans()) else {file.inode: draw(st.sampled_from([file.path, *PATHS])) for file in files},
        is_rewound=not draw(MOSTLY),
        written_entries={file.digest: draw(st.sampled_from(ENTRIES)) for file in files if draw(st.booleans())},
    )


@st.composite
def looks(draw: st.DrawFn) -> LookResult:
    paths = draw(st.lists(st.sampled_from(PATHS), unique=True, min_size=1, max_size=1 if draw(MOSTLY) else 2))
    files = []
    for number, path in enumerate(paths):
        text = draw(st.sampled_from(TEXTS))
        file = found(path, text, claimed=draw(st.sampled_from(CLAIMS)), inode=INODE + number)
        files.append(replace(file, data=text.encode(), is_held_open=not draw(MOSTLY)))
    return look_at(*files)


@settings(max_examples=scale_examples(300))
@given(st.data())
def test_where_the_short_way_answers_all_evidence_agrees(data: st.DataObject) -> None:
    look = data.draw(looks())
    memory = data.draw(earlier_states(list(look.found_files.values())))
    index = index_of({*look.found_files, *data.draw(st.sets(st.sampled_from(PATHS)))})
    short = find_only_owner(look, memory, index)
    event(f"answers: {short is not None}")
    if short is not None:
        files = dict(look.found_files)
        assert owners_by_all_evidence(look, memory, index) == (FileOwners(dict([short])), KnownCopies())
        assert look.found_files == files


@pytest.mark.parametrize("inodes", [{}, {INODE: "a.md"}], ids=["new inode", "same inode"])
@pytest.mark.parametrize("claimed", [None, A, "zettel-7", C])
def test_a_save_of_a_known_file_goes_the_short_way(claimed: str | EntryId | None, inodes: dict[int, str]) -> None:
    memory = known(base(A, "a.md", "text", claimed=claimed), base(B, "b.md", "new"), inodes=inodes)
    look = look_at(found("a.md", "new", claimed=claimed, inode=INODE))
    assert find_only_owner(look, memory, index_of(["a.md", "b.md"])) == ("a.md", A)


SAVED, BASE = found("a.md", "new", inode=INODE), base(A, "a.md")
INDEX = found("D/_index.md", "new")


@pytest.mark.parametrize(
    ("look", "memory"),
    [
        pytest.param(look_at(SAVED, found("b.md")), known(BASE), id="two files"),
        pytest.param(look_at(SAVED, gone_paths=["b.md"]), known(BASE), id="another file is gone"),
        pytest.param(look_at(SAVED, unknown=["b.md"]), known(BASE), id="another file is being written"),
        pytest.param(look_at(replace(SAVED, is_held_open=True)), known(BASE), id="held open"),
        pytest.param(look_at(SAVED), known(base(A, "b.md")), id="unknown path"),
        pytest.param(look_at(SAVED), known(BASE, inodes={INODE: "b.md"}), id="the inode of another path"),
        pytest.param(look_at(replace(SAVED, claimed=str(B))), known(BASE), id="the id of another page"),
        pytest.param(look_at(SAVED), known(base(A, "a.md", claimed=A)), id="an id that was removed"),
        pytest.param(look_at(SAVED), known(BASE, base(B, "b.md"), missing=["b.md"]), id="a lost page"),
        pytest.param(look_at(SAVED), known(BASE, replace(base(B, "b.md"), path=None)), id="a page without a path"),
        pytest.param(look_at(SAVED), known(base(A, "a.md", "")), id="a first text"),
        pytest.param(look_at(found("D", None)), known(base(A, "D", None)), id="a folder"),
        pytest.param(look_at(found("D.md")), known(base(A, "D", None)), id="a folder that becomes a page"),
        pytest.param(look_at(INDEX), known(base(A, "D/_index.md")), id="a folder note beside the index file"),
        pytest.param(look_at(found("D.md")), known(base(A, "D.md")), id="an index file beside the folder note"),
    ],
)
def test_everything_else_goes_the_full_way(look: LookResult, memory: EarlierState) -> None:
    index = index_of(["a.md", "b.md", "D", "D.md", "D/_index.md"])
    assert find_only_owner(look, memory, index) is None


def test_a_tree_that_went_back_in_time_goes_the_full_way() -> None:
    memory = EarlierState([BASE], is_rewound=True)
    assert find_only_owner(look_at(SAVED), memory, index_of(["a.md"])) is None
