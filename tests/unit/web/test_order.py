"""A moved page comes to stand where it was put, and as few others as possible get a position."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId
from mirrord.domain.place import natural_key
from mirrord.web.rows.tree_rows import MAX_NEW_POSITIONS, Node, place_among


def node(number: int, position: str | None = None, title: str | None = None, kind: str = "page") -> Node:
    return Node(EntryId(UUID(int=number)), kind, title or f"Page {number:04}", None, position, 1, None, False)


def ordered(nodes: Sequence[Node]) -> list[Node]:
    """As the sidebar shows them."""
    return sorted(
        nodes, key=lambda node: (node.position is None, node.position or "", natural_key(node.title), node.id)
    )


def titles(nodes: Sequence[Node]) -> list[str]:
    return [node.title for node in nodes]


def moved(new: Node, siblings: Sequence[Node], index: int) -> list[Node] | None:
    place = place_among(new, siblings, index)
    if place is None:
        return None
    others = dict(place.sibling_positions)
    following = [replace(sibling, position=others.get(sibling.id, sibling.position)) for sibling in siblings]
    return ordered([replace(new, position=place.position), *following])


@given(st.lists(st.sampled_from([None, "B", "V", "V", "k", "a b"]), max_size=8), st.integers(0, 8), st.integers(0, 99))
def test_it_stands_where_it_was_put(positions: list[str | None], index: int, title: int) -> None:
    siblings = ordered([node(number + 1, position) for number, position in enumerate(positions)])
    index = min(index, len(siblings))
    new = node(100, None, f"Page {title:04}.5")
    order = moved(new, siblings, index)
    assert order is not None
    assert titles(order) == [*titles(siblings[:index]), new.title, *titles(siblings[index:])]


@given(
    st.lists(st.sampled_from(["page", "placed", "folder"]), max_size=8),
    st.integers(0, 8),
    st.integers(0, 99),
    st.sampled_from(["page", "folder"]),
)
def test_folders_without_a_page_get_no_position_and_pages_stand_in_the_order_that_was_wanted(
    kinds: list[str], index: int, title: int, kind: str
) -> None:
    siblings = ordered(
        [
            node(number + 1, f"B{number}" if name == "placed" else None, kind="folder" if name == "folder" else "page")
            for number, name in enumerate(kinds)
        ]
    )
    index = min(index, len(siblings))
    new = node(100, None, f"Page {title:04}.5", kind)
    place, order = place_among(new, siblings, index), moved(new, siblings, index)
    assert place is not None
    assert order is not None
    assert [entry.title for entry in order if entry.kind == "folder" and entry.position is not None] == []
    expected = [*siblings[:index], new, *siblings[index:]]
    if kind == "page":
        assert [entry.title for entry in order if entry.kind == "page"] == titles(
            [entry for entry in expected if entry.kind == "page"]
        )
    assert place.is_exact == (titles(order) == titles(expected))


def test_where_the_title_puts_it_anyway_it_gets_no_position() -> None:
    place = place_among(node(2, "V"), [node(1), node(3)], 1)
    assert place is not None
    assert (place.position, place.sibling_positions) == (None, ())


def test_between_two_positions_one_row_is_written() -> None:
    place = place_among(node(9), [node(1, "B"), node(2, "C")], 1)
    assert place is not None
    assert place.sibling_positions == ()


@pytest.mark.parametrize("count", [MAX_NEW_POSITIONS + 1, MAX_NEW_POSITIONS * 3])
def test_too_many_positions_are_not_given_for_one_move(count: int) -> None:
    siblings = [node(number, None, f"Page {number:04}") for number in range(1, count + 2)]
    assert place_among(node(9000, None, "A page"), siblings, count) is None
    assert place_among(node(9000, None, "Zebra"), siblings, 0) is not None
