"""Ids and digests."""

import hashlib
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EMPTY_DIGEST, TenantId, digest_of, id_of_path, new_id, parse_id

ODD_SPELLINGS: list[Callable[[UUID], str]] = [
    lambda value: value.hex,
    lambda value: value.urn,
    lambda value: f"{{{value}}}",
    lambda value: value.hex + "----",  # as long as the usual one
]
SOME = UUID("7f3c1d2e-0a4b-4c5d-8e6f-9a0b1c2d3e4f")
TENANT, OTHER = TenantId(UUID(int=1)), TenantId(UUID(int=2))


def test_a_new_id_is_a_uuid_of_version_7() -> None:
    created_id = new_id()
    assert (created_id.version, created_id.variant) == (7, "specified in RFC 4122")


def test_new_ids_differ_and_those_of_a_later_millisecond_sort_later() -> None:
    created_ids = [new_id() for _ in range(5_000)]
    assert len(set(created_ids)) == len(created_ids)
    milliseconds = [entry.int >> 80 for entry in created_ids]
    assert milliseconds == sorted(milliseconds)


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_id_of_a_path_is_the_same_for_the_same_path_only(first: str, other: str) -> None:
    assert (id_of_path(TENANT, first) == id_of_path(TENANT, other)) == (first == other)
    assert id_of_path(TENANT, first) != id_of_path(OTHER, first)


@given(st.uuids())
def test_a_uuid_is_read_in_both_cases(value: UUID) -> None:
    assert parse_id(str(value)) == parse_id(str(value).upper()) == value


@pytest.mark.parametrize(
    "text",
    [None, "", "42", "zettel-202401011200", "x" * 36, *(spell(SOME) for spell in ODD_SPELLINGS)],
)
def test_an_id_that_is_not_a_plain_uuid_is_the_users_own(text: str | None) -> None:
    assert parse_id(text) is None


@given(st.binary(max_size=200))
def test_a_digest_is_blake2b_256_of_exact_bytes(data: bytes) -> None:
    assert digest_of(data) == hashlib.blake2b(data, digest_size=32).digest()
    assert (digest_of(data) == EMPTY_DIGEST) == (data == b"")
