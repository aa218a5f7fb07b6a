"""The pure part of backups: where lines are cut, and that a list of a backup says what it said."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.domain.backup_format import FORMAT, Chunk, Chunker, Manifest, Table, encode_manifest, manifest_of
from mirrord.errors import Damaged
from tests.support.laws import scale_examples

LINE = b"x" * 9000
MANIFEST = Manifest(
    number=3,
    schema=16,
    tenant="demo",
    tenant_id="00000000-0000-0000-0000-000000000001",
    tenant_made_at="2026-01-31 18:00:00+00",
    made_at="2026-01-31 19:00:00+00",
    seq=7,
    tables={"page": Table(("id",), (Chunk("ab", 2), Chunk("cd", 1)))},
    files=Table(("path",), ()),
    unread=("odd \\xff.md",),
)


def cut(keys: list[str]) -> list[list[str]]:
    """The keys of each chunk; every line is the same long one."""
    cutter, ends = Chunker(), [0]
    for number, key in enumerate(keys, 1):
        if (chunk := cutter.add(key, LINE)) is not None:
            assert len(chunk) == number - ends[-1]
            ends.append(number)
    if last_chunk := cutter.flush():
        assert len(last_chunk) == len(keys) - ends[-1]
        ends.append(len(keys))
    return [keys[first:last] for first, last in itertools.pairwise(ends)]


@settings(max_examples=scale_examples(20))
@given(st.lists(st.integers(0, 9).map(str), max_size=60))
def test_chunks_together_are_all_lines_in_order_and_none_is_empty(keys: list[str]) -> None:
    chunks = cut(keys)
    assert [key for chunk in chunks for key in chunk] == keys
    assert all(chunks)


@settings(max_examples=scale_examples(40))
@given(st.integers(0, 999), st.integers(0, 10**6))
def test_a_row_that_comes_changes_few_chunks(place: int, name: int) -> None:
    keys = [str(number) for number in range(1000)]
    before = set(map(tuple, cut(keys)))
    after = set(map(tuple, cut([*keys[:place], f"new {name}", *keys[place:]])))
    assert len(before) > 20
    assert len(after - before) <= 6


def test_a_chunk_ends_however_its_keys_are() -> None:
    never = next(str(number) for number in range(100) if len(cut([str(number)] * 40)) == 1)
    assert max(map(len, cut([never] * 2000))) * len(LINE) < 5 << 20


def test_a_list_says_what_it_said() -> None:
    assert manifest_of(encode_manifest(MANIFEST)) == MANIFEST
    assert MANIFEST.rows == 3


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"format": 1}', b"\xff"])
def test_what_is_no_list_is_damaged(data: bytes) -> None:
    with pytest.raises(Damaged, match="no manifest"):
        manifest_of(data)


def test_a_list_of_another_format_is_not_guessed_at() -> None:
    with pytest.raises(Damaged, match="another version of mirrord"):
        manifest_of(encode_manifest(MANIFEST).replace(b'"format": 1', b'"format": 2'))
    assert FORMAT == 1
