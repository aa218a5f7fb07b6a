"""Which files are records, and what they are called."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import Kind
from mirrord.domain.place import RECORD_SORTS, name_of_record, record_path
from mirrord.mirror.tree.tree_layout import may_be_synced, spot_of_directory, spot_of_file

_KEYS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,28}[A-Za-z0-9])?", fullmatch=True)


@given(st.sampled_from(["category", "collection"]), _KEYS)
def test_a_name_is_its_path_and_back(kind: str, key: str) -> None:
    path = record_path(f"{kind}/{key}")
    assert name_of_record(path) == f"{kind}/{key}"
    assert may_be_synced(path)


@given(
    st.sampled_from([sort.directory for sort in RECORD_SORTS]),
    st.text(max_size=12),
    st.sampled_from([".yaml", ".json"]),
)
def test_every_record_has_one_path(directory: str, stem: str, ending: str) -> None:
    path = f".records/{directory}/{stem}{ending}"
    name = name_of_record(path)
    assert name is None or record_path(name) == path


def test_segments_are_called_by_the_id_of_their_page() -> None:
    page = uuid4()
    assert name_of_record(f".records/segments/{page}.json") == f"segment/{page}"
    assert name_of_record(f".records/segments/{str(page).upper()}.json") is None


@pytest.mark.parametrize(
    "path",
    [
        ".records/categories/a b.yaml",
        ".records/categories/-a.yaml",
        ".records/categories/a.yml",
        ".records/categories/a.json",
        ".records/categories/sub/a.yaml",
        ".records/categories/.a.yaml",
        f".records/categories/{'a' * 31}.yaml",
        ".records/a.yaml",
        ".records/approvals/a.json",
        ".records/events/2026-01-31.desk.jsonl",
        ".recordsx/categories/a.yaml",
        "categories/a.yaml",
        "Sub/.records/categories/a.yaml",
    ],
)
def test_what_lies_elsewhere_or_is_called_otherwise_is_none(path: str) -> None:
    assert name_of_record(path) is None
    spot = spot_of_file(path)
    assert spot is None or spot.kind is Kind.ATTACHMENT


@pytest.mark.parametrize("path", [".records", ".records/categories"])
def test_their_directories_are_no_folders_but_looked_at(path: str) -> None:
    assert spot_of_directory(path) is None
    assert may_be_synced(path)


@pytest.mark.parametrize("path", [".recordsx", ".records/events/x.jsonl", ".records/categories/.x", ".git", "a//b"])
def test_other_hidden_things_are_not(path: str) -> None:
    assert not may_be_synced(path)
