"""Integer names of ids."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId, new_id
from mirrord.research.sources.source_kinds import is_reference_to, number_of, parse_reference


@given(st.uuids())
def test_a_number_its_digits_and_the_uuid_mean_the_same_id(value: UUID) -> None:
    entry = EntryId(value)
    number = number_of(entry)
    assert 0 <= number < 1 << 53
    for reference in (number, str(number), f" {number} ", str(entry), str(entry).upper()):
        parsed = parse_reference(reference)
        assert parsed is not None
        assert is_reference_to(parsed, entry)
        assert not is_reference_to(parsed, new_id())


def test_a_number_is_the_same_on_every_host() -> None:
    assert number_of(EntryId(UUID("0192f0c1-2b3c-7d4e-8f90-a1b2c3d4e5f6"))) == 4326001790006042


def test_what_is_neither_a_number_nor_a_uuid_means_nothing() -> None:
    for text in ("", "folder", "-1", "1.5", "12345678901234567", "0x10", "٣"):
        assert parse_reference(text) is None
