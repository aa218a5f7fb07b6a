"""A page that is put between two others has its place in an app that orders by whole numbers, and no order is lost."""

import pytest

from tests.binding.knowledge_base import CREATING_MAPPING, TENANT, BoundWorld
from tests.support.harness import eventually


@pytest.fixture
def ordered(world: BoundWorld) -> BoundWorld:
    """Pages A to D with the numbers 1, 2, 3 and 7, and E below A with 2, in mode `both`; its daemon runs."""
    world.mapping.write_text(CREATING_MAPPING)
    (first, *_) = [world.app.create(title, position=number) for title, number in zip("ABCD", (1, 2, 3, 7), strict=True)]
    world.app.create("E", parent=first, position=2)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    for path, position in (("A.md", "a1"), ("B.md", "a2"), ("C.md", "a3"), ("D.md", "a7"), ("A/E.md", "a2")):
        world.await_text(path, f"position: {position}\n")
    return world


def numbers(world: BoundWorld) -> dict[str, int]:
    """The numbers of all pages in the app, by title."""
    query = "SELECT title, position FROM kb.pages WHERE tenant_id = %s AND deleted_at IS NULL"
    return dict(world.app.connection.execute(query, [TENANT]).fetchall())


def put(world: BoundWorld, path: str, before: str, after: str) -> None:
    file = world.mirrord.file(path)
    file.write_text(file.read_text().replace(f"position: {before}\n", f"position: {after}\n"))


def await_numbers(world: BoundWorld, **expected: int) -> None:
    eventually(lambda: numbers(world) == expected, f"{expected} are the numbers; they are {numbers(world)}")


def test_rows_without_a_gap_make_room_and_those_behind_a_gap_stay(ordered: BoundWorld) -> None:
    put(ordered, "D.md", "a7", "a1V")
    await_numbers(ordered, A=1, D=2, B=3, C=4, E=2)
    for path, position in (("A.md", "a1"), ("D.md", "a2"), ("B.md", "a3"), ("C.md", "a4"), ("A/E.md", "a2")):
        ordered.await_text(path, f"position: {position}\n")
    ordered.await_rest()
    assert ordered.status()["problems"] == []


def test_a_free_number_is_taken_and_no_other_row_is_written(ordered: BoundWorld) -> None:
    query = "SELECT title, xmin::text FROM kb.pages WHERE title <> 'B'"
    before = ordered.app.connection.execute(query).fetchall()
    put(ordered, "B.md", "a2", "a3V")
    await_numbers(ordered, A=1, C=3, B=4, D=7, E=2)
    ordered.await_text("B.md", "position: a4\n")
    assert ordered.app.connection.execute(query).fetchall() == before


def test_a_row_with_an_equal_number_moves_along(ordered: BoundWorld) -> None:
    ordered.app.create("Twin", position=2)
    ordered.await_text("Twin.md", "position: a2\n")
    put(ordered, "D.md", "a7", "a1V")
    await_numbers(ordered, A=1, D=2, B=3, Twin=3, C=4, E=2)


def test_a_new_page_is_put_between_two_rows(ordered: BoundWorld) -> None:
    ordered.mirrord.file("New.md").write_text("---\nposition: a1V\n---\nN.\n")
    await_numbers(ordered, A=1, New=2, B=3, C=4, D=7, E=2)
    ordered.await_text("New.md", "position: a2\n")
    ordered.await_text("B.md", "position: a3\n")


def test_a_row_that_the_app_holds_keeps_its_number_until_it_is_free(ordered: BoundWorld) -> None:
    other = ordered.app.create("Other", "O.", position=20)
    text = ordered.await_text("Other.md", "O.")
    with ordered.app.connection.transaction():
        ordered.app.connection.execute("UPDATE kb.pages SET position = 9 WHERE title = 'C'")
        put(ordered, "D.md", "a7", "a1V")
        ordered.mirrord.file("Other.md").write_text(text.replace("O.", "Changed."))
        count = "SELECT count(*) FROM kb.blocks WHERE page_id = %s AND content::text LIKE '%%Changed.%%'"
        eventually(
            lambda: ordered.admin.execute(count, [other]).fetchone() == (1,), "another page is written meanwhile"
        )
    await_numbers(ordered, A=1, D=2, B=3, C=9, E=2, Other=20)


def test_too_many_rows_without_a_gap_are_a_problem_and_keep_their_numbers(ordered: BoundWorld) -> None:
    ordered.app.connection.execute(
        "INSERT INTO kb.pages (id, tenant_id, title, position) "
        "SELECT gen_random_uuid(), %s, 'Row ' || n, n FROM generate_series(8, 520) AS n",
        [TENANT],
    )
    ordered.await_text("Row 520.md")
    ordered.await_rest()
    put(ordered, "B.md", "a2", "a6V")
    (problem,) = eventually(lambda: ordered.status()["problems"], "the move is a problem")
    assert "more than 500 rows follow without a gap" in problem["sentence"]
    assert numbers(ordered)["B"] == 2
    assert numbers(ordered)["Row 8"] == 8


UNIQUE = (
    "CREATE UNIQUE INDEX one_number ON kb.pages (tenant_id, coalesce(parent_id, ''), position) WHERE deleted_at IS NULL"
)


def test_a_row_leaves_its_number_to_another_where_the_app_keeps_numbers_unique(ordered: BoundWorld) -> None:
    ordered.app.connection.execute(UNIQUE)
    ordered.app.connection.execute("ALTER TABLE kb.pages ADD CHECK (position > 0)")
    put(ordered, "C.md", "a3", "a1V")
    await_numbers(ordered, A=1, C=2, B=3, D=7, E=2)
    ordered.await_text("B.md", "position: a3\n")
    put(ordered, "B.md", "a3", "a0V")
    await_numbers(ordered, B=1, A=2, C=3, D=7, E=2)
    ordered.mirrord.file("New.md").write_text("---\nposition: a1V\n---\nN.\n")
    await_numbers(ordered, B=1, New=2, A=3, C=4, D=7, E=2)
    ordered.await_rest()
    assert ordered.status()["problems"] == []


def test_a_number_of_a_row_that_is_no_page_is_a_problem_with_a_remedy(ordered: BoundWorld) -> None:
    ordered.app.connection.execute(
        "INSERT INTO kb.pages (id, tenant_id, title, position, space_type) "
        "VALUES ('hidden', %s, 'Hidden', 4, 'PRIVATE')",
        [TENANT],
    )
    ordered.app.connection.execute(UNIQUE)
    put(ordered, "D.md", "a7", "a1V")
    (problem,) = eventually(lambda: ordered.status()["problems"], "the place is a problem")
    assert "give it another `position`" in problem["sentence"]
    assert numbers(ordered) == {"A": 1, "B": 2, "C": 3, "D": 7, "E": 2, "Hidden": 4}
    put(ordered, "D.md", "a1V", "a9")
    await_numbers(ordered, A=1, B=2, C=3, Hidden=4, D=9, E=2)
    eventually(lambda: not ordered.status()["problems"], "the problem is over")
