"""Paths of an app's rows as parents, names and folders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.binding.app_rows import AppRow
from mirrord.binding.mappings.path_names import MAX_PATH_BYTES, MAX_STEPS, name_in, trouble_with
from mirrord.binding.paths.row_paths import folder_rows, folders_of, ids_by_path, paths_sought, placed_rows
from mirrord.binding.row_order import order_rows

names = st.sampled_from(["a", "b", "A", "ä", "c d", "e.f"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


def read_row(external_id: str, path: str | None, title: str = "T") -> AppRow:
    return AppRow(external_id, path, title, None, "1", None)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "no path"),
        ("/a", "begins or ends with a slash"),
        ("a/", "begins or ends with a slash"),
        ("/", "begins or ends with a slash"),
        ("a//b", "no name"),
        ("a/../b", "no name"),
        ("./a", "no name"),
        ("a/ /b", "no name"),
        ("..", "no name"),
        ("x" * (MAX_PATH_BYTES + 1), "more than 1,000 bytes"),
        ("ä" * 501, "more than 1,000 bytes"),
        ("/".join(["a"] * (MAX_STEPS + 1)), "more than 50 steps"),
    ],
)
def test_a_path_that_is_no_place_has_a_reason_and_makes_no_folder(path: str, reason: str) -> None:
    assert reason in (trouble_with(path) or "")
    assert folders_of([path]) == set()
    assert placed_rows({"1": read_row("1", path)}, {"a": "2"})["1"].parent is None


@given(st.lists(paths, max_size=12))
def test_every_row_is_below_the_row_or_folder_of_its_path_and_none_below_itself(all_paths: list[str]) -> None:
    read = {str(number): read_row(str(number), path) for number, path in enumerate(all_paths)}
    ids_at = ids_by_path(read)
    rows = placed_rows(read, ids_at) | folder_rows(folders_of(ids_at.keys()), ids_at)
    order = order_rows({external_id: row.parent for external_id, row in rows.items()})
    assert (order.orphans, order.cyclic) == (frozenset(), frozenset())
    for row in rows.values():
        steps, above = [name_in(row.path or "")], row.parent
        while above is not None:
            steps.insert(0, name_in(rows[above].path or ""))
            above = rows[above].parent
        assert "/".join(steps) == row.path
    assert {row.path for row in rows.values()} >= set(all_paths)


@given(st.lists(paths, max_size=8), st.lists(paths, max_size=3))
def test_all_that_places_rows_and_folders_is_sought(all_paths: list[str], folders: list[str]) -> None:
    sought = paths_sought(all_paths, folders)
    assert sought >= set(folders)
    assert sought >= {path.rpartition("/")[0] for path in all_paths + folders} - {""}


def test_of_rows_with_one_path_the_first_has_the_rows_below() -> None:
    read = {"9": read_row("9", "a"), "10": read_row("10", "a"), "11": read_row("11", "a/b")}
    assert placed_rows(read, ids_by_path(read))["11"].parent == "10"


def test_the_digest_of_a_row_changes_with_its_name_and_parent_and_not_with_names_above() -> None:
    def digest(path: str, ids_at: dict[str, str]) -> bytes:
        return placed_rows({"1": read_row("1", path)}, ids_at)["1"].digest

    assert digest("a/b", {"a": "7"}) == digest("z/b", {"z": "7"})
    assert digest("a/b", {"a": "7"}) != digest("a/c", {"a": "7"})
    assert digest("a/b", {"a": "7"}) != digest("a/b", {"a": "8"})
    assert digest("a//b", {}) != digest("a//c", {})


def test_a_page_is_named_by_its_path_and_one_without_a_place_by_its_title() -> None:
    assert placed_rows({"1": read_row("1", "a/my beans", "Beans")}, {})["1"].name == "my beans"
    assert placed_rows({"1": read_row("1", "a/../b", "Beans")}, {})["1"].name == "Beans"
