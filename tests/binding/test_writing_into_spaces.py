"""Mode `both` with spaces: files that are moved between spaces move their rows, and spaces are the app's."""

import pytest

from tests.binding.knowledge_base import TENANT, BoundWorld
from tests.binding.test_spaces import MAPPING, TABLES, add_doc, add_space, files_of
from tests.support.entries import value
from tests.support.harness import eventually

BOTH = MAPPING.replace('name = "kb"', 'name = "kb"\nmode = "both"').replace(
    'space = "space_id"\n', 'space = "space_id"\ndelete = "row"\ncreate = { }\n'
)
PLACES = "SELECT string_agg(format('%%s %%s %%s', title, space_id, parent_id), ', ' ORDER BY id) FROM kb.docs"


@pytest.fixture
def spaces(world: BoundWorld) -> BoundWorld:
    """Two spaces, the first with a page and one below it; the binding writes, and its daemon runs."""
    world.app.connection.execute(TABLES.encode())
    world.mapping.write_text(BOTH)
    add_space(world, "Garden")
    add_space(world, "House")
    add_doc(world, "Beans", 1, "Green.\n")
    add_doc(world, "Soil", 1, "Brown.\n", parent=1)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.await_text("Garden/Beans/Soil.md", "Brown.")
    world.await_text("House.md", "title: House")
    world.await_rest()
    return world


def await_places(world: BoundWorld, places: str) -> None:
    """Return when the app has its pages there: titles, spaces and parents."""
    eventually(lambda: value(world.admin, PLACES) == places, f"{places}; there is {value(world.admin, PLACES)}", 60)


def move(world: BoundWorld, before: str, after: str) -> None:
    """Rename a file, and its directory if it has one."""
    root = world.mirrord.root
    (root / after).parent.mkdir(parents=True, exist_ok=True)
    (root / before).rename(root / after)
    directory = (root / before).with_suffix("")
    if directory.is_dir():
        directory.rename((root / after).with_suffix(""))


def problems(world: BoundWorld) -> list[str]:
    """The sentences of what is wrong."""
    return [problem["sentence"] for problem in world.status()["problems"]]


def test_a_page_that_is_moved_to_another_space_takes_the_rows_below_it_along(spaces: BoundWorld) -> None:
    move(spaces, "Garden/Beans.md", "House/Beans.md")
    await_places(spaces, "Beans 2 , Soil 2 1")
    spaces.await_text("House/Beans/Soil.md", "Brown.")
    spaces.await_rest()
    assert files_of(spaces) == ["Garden.md", "House.md", "House/Beans.md", "House/Beans/Soil.md"]
    assert problems(spaces) == []


def test_a_page_that_is_moved_below_another_row_is_in_the_space_of_that_row(spaces: BoundWorld) -> None:
    add_doc(spaces, "Kitchen", 2, "Warm.\n")
    spaces.await_text("House/Kitchen.md", "Warm.")
    move(spaces, "Garden/Beans/Soil.md", "House/Kitchen/Soil.md")
    await_places(spaces, "Beans 1 , Soil 2 3, Kitchen 2 ")
    move(spaces, "House/Kitchen/Soil.md", "Soil.md")
    await_places(spaces, "Beans 1 , Soil  , Kitchen 2 ")
    assert problems(spaces) == []


def test_an_edited_text_and_a_new_page_reach_the_row_in_the_space(spaces: BoundWorld) -> None:
    file = spaces.mirrord.file("Garden/Beans.md")
    file.write_text(file.read_text().replace("Green.", "Long."))
    eventually(
        lambda: value(spaces.admin, "SELECT body FROM kb.docs WHERE id = 1") == "Long.\n", "the app has the edit"
    )
    spaces.mirrord.file("House/Roof.md").parent.mkdir(exist_ok=True)
    spaces.mirrord.file("House/Roof.md").write_text("Red.\n")
    await_places(spaces, "Beans 1 , Soil 1 1, Roof 2 ")
    spaces.mirrord.file("Garden/Beans/Pods.md").write_text("Soft.\n")
    await_places(spaces, "Beans 1 , Soil 1 1, Roof 2 , Pods 1 1")
    assert value(spaces.admin, "SELECT bool_and(tenant_id = %s) FROM kb.docs", TENANT)
    assert problems(spaces) == []


def test_what_is_done_to_a_space_is_taken_back(spaces: BoundWorld) -> None:
    file = spaces.mirrord.file("Garden.md")
    text = file.read_text()
    file.write_text(text.replace("Garden", "Allotment") + "Words of a person.\n")
    eventually(lambda: "which only the app changes" in " ".join(problems(spaces)), "the edit is a problem")
    eventually(lambda: file.exists() and file.read_text() == text, "the file is as the app says")
    assert value(spaces.admin, "SELECT name FROM kb.spaces WHERE id = 1") == "Garden"
    move(spaces, "House.md", "Villa.md")
    spaces.await_text("House.md", "title: House")
    spaces.await_absence("Villa.md")
    await_places(spaces, "Beans 1 , Soil 1 1")


def test_a_space_that_the_app_removes_takes_its_pages_along(spaces: BoundWorld) -> None:
    for number in range(12):
        add_doc(spaces, f"Room {number}", 2, "Warm.\n")
    spaces.await_text("House/Room 11.md", "Warm.")
    spaces.await_rest()
    spaces.app.connection.execute("UPDATE kb.spaces SET deleted_at = now() WHERE id = 1")
    spaces.await_absence("Garden/Beans/Soil.md")
    spaces.await_absence("Garden.md")
    assert value(spaces.admin, "SELECT count(*) FROM kb.docs WHERE space_id = 1") == 2, "the rows are the app's"


def test_a_move_that_the_app_holds_up_is_made_as_a_whole_once_it_lets_go(spaces: BoundWorld) -> None:
    with spaces.app.connection.transaction():
        spaces.app.connection.execute("SELECT FROM kb.docs WHERE title = 'Soil' FOR UPDATE")
        move(spaces, "Garden/Beans.md", "House/Beans.md")
        name = (
            "SELECT count(*) FROM mirrord.page AS p JOIN mirrord.page AS s ON s.id = p.parent_id "
            "WHERE p.name = 'Beans' AND s.name = 'House'"
        )
        eventually(lambda: value(spaces.admin, name) == 1, "the page is in the other space")
        assert value(spaces.admin, PLACES) == "Beans 1 , Soil 1 1"
    await_places(spaces, "Beans 2 , Soil 2 1")


def test_a_page_at_the_top_is_a_problem_where_the_app_needs_a_space(spaces: BoundWorld) -> None:
    spaces.app.connection.execute("ALTER TABLE kb.docs ALTER space_id SET NOT NULL")
    move(spaces, "Garden/Beans.md", "Beans.md")
    eventually(lambda: "space_id" in " ".join(problems(spaces)), "the place is a problem")
    assert value(spaces.admin, PLACES) == "Beans 1 , Soil 1 1"
    move(spaces, "Beans.md", "House/Beans.md")
    await_places(spaces, "Beans 2 , Soil 2 1")
    eventually(lambda: not problems(spaces), "the problem is over")


def test_a_move_is_a_problem_where_the_app_lets_not_all_pages_below_be_written(spaces: BoundWorld) -> None:
    spaces.app.connection.execute("ALTER TABLE kb.docs ENABLE ROW LEVEL SECURITY")
    spaces.app.connection.execute("CREATE POLICY all_read ON kb.docs FOR SELECT USING (true)")
    spaces.app.connection.execute("CREATE POLICY some_write ON kb.docs FOR UPDATE USING (title <> 'Soil')")
    move(spaces, "Garden/Beans.md", "House/Beans.md")
    eventually(lambda: "another space" in " ".join(problems(spaces)), "the move is a problem")
    assert value(spaces.admin, PLACES) == "Beans 1 , Soil 1 1"
    spaces.app.connection.execute("DROP POLICY some_write ON kb.docs")
    spaces.app.connection.execute("CREATE POLICY all_write ON kb.docs FOR UPDATE USING (true)")
    move(spaces, "House/Beans.md", "Garden/Beans.md")
    eventually(lambda: not problems(spaces), "the problem is over")
