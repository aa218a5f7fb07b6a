import tracemalloc
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import NO_TEXT, EntryId, digest_of, new_id
from mirrord.mirror.mirror_state import State, to_signed
from mirrord.mirror.seen_files import Index, PackedRecords
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.tenant_tree import Tree

numbers = st.integers(0, 2**64 - 1)
sizes = st.integers(0, 2**63 - 1)
moments = st.integers(-(2**63), 2**63 - 1)
digests = st.sampled_from([NO_TEXT, digest_of(b"a")])
records = st.builds(CachedStat, numbers, numbers, sizes, moments, moments, digests, st.builds(EntryId, st.uuids()))
A_RECORD = CachedStat(1, 2, 3, 4, 5, digest_of(b"a"), new_id())
FILES = 4_000
MAX_BYTES_PER_FILE = 520  # 425 with what the index knows of a file besides; 825 where each row was a value first


def row_of(record: CachedStat) -> list[Any]:
    return [*map(to_signed, record[:5]), record.digest, record.entry.bytes]


@given(st.dictionaries(st.text(), records, max_size=4))
def test_rows_of_the_state_become_the_records_that_they_were_made_of(given_records: dict[str, CachedStat]) -> None:
    packed_records = PackedRecords()
    for path, record in given_records.items():
        packed_records.add_row(path, row_of(record))
    assert packed_records == given_records == PackedRecords.of(given_records)
    assert packed_records.packed == PackedRecords.of(given_records).packed


@pytest.mark.parametrize("value", [None, "text", 1.5, b"1"])
@pytest.mark.parametrize("column", range(5))
def test_a_row_with_a_number_that_no_program_wrote_is_refused(column: int, value: object) -> None:
    row = row_of(A_RECORD)
    row[column] = value
    packed_records = PackedRecords()
    with pytest.raises(ValueError, match=r"A\.md"):
        packed_records.add_row("A.md", row)
    assert not packed_records


@pytest.mark.parametrize(("column", "value"), [(2, -1), (5, None), (6, None), (6, b""), (6, b"0" * 15), (6, "0" * 16)])
def test_a_row_with_another_value_that_no_program_wrote_is_refused(column: int, value: object) -> None:
    row = row_of(A_RECORD)
    row[column] = value
    with pytest.raises(ValueError, match=r"A\.md"):
        PackedRecords().add_row("A.md", row)


@pytest.mark.parametrize("size", [None, -1])
def test_a_state_with_a_size_that_no_file_has_is_made_again(tree: Tree, size: int | None) -> None:
    state = State(tree)
    state.store({"A.md": A_RECORD})
    assert state._connection is not None
    state._connection.execute("UPDATE seen SET size = ?", (size,))
    assert not state.load()
    state.store({"B.md": A_RECORD})
    assert list(state.load()) == ["B.md"]
    state.close()


def test_a_known_tree_is_loaded_without_being_in_memory_twice(tree: Tree) -> None:
    state, entry = State(tree), EntryId(UUID(int=7))
    state.store(
        {
            f"Area {n % 50}/Topic {n % 500}/A page about {n}.md": CachedStat(64768, n, n, n, n, digest_of(b"x"), entry)
            for n in range(FILES)
        }
    )
    tracemalloc.start()
    try:
        index = Index(state.load())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        state.close()
    assert len(index) == FILES
    assert peak / FILES < MAX_BYTES_PER_FILE
