"""Mode `both` in an app with a path in each row: moves and renames of files write paths, of all rows below, too."""

import shutil

import pytest

from tests.binding.knowledge_base import BoundWorld
from tests.binding.test_paths import MAPPING, TABLE, add_page, files_of, pages_of, start
from tests.support.entries import value
from tests.support.harness import eventually

BOTH = MAPPING.replace('name = "kb"', 'name = "kb"\nmode = "both"').replace(
    'deleted = "deleted"', 'deleted = "deleted"\ntouch = { revision = "+1" }\ncreate = { }'
)
PATHS = ("garden/beans", "garden/old/peas", "house", "house/bath", "house/attic/box")
FILES = [
    *("garden.md", "garden/beans.md", "garden/old.md", "garden/old/peas.md"),
    *("house.md", "house/bath.md", "house/attic.md", "house/attic/box.md"),
]


@pytest.fixture
def wiki(world: BoundWorld) -> BoundWorld:
    """Five rows, three folders, and pages of both; the daemon runs."""
    world.app.connection.execute(TABLE.encode())
    world.app.connection.execute("ALTER TABLE kb.wiki ADD revision integer NOT NULL DEFAULT 1")
    world.app.connection.execute("CREATE UNIQUE INDEX ON kb.wiki (path) WHERE NOT deleted")
    world.mapping.write_text(BOTH)
    for path in PATHS:
        add_page(world, path, f"{path}\n", path.title())
    start(world)
    eventually(lambda: files_of(world) == sorted(FILES), f"the files are there: {files_of(world)}")
    world.await_rest()
    return world


def paths_of(world: BoundWorld) -> list[str]:
    query = 'SELECT path FROM kb.wiki WHERE NOT deleted ORDER BY path COLLATE "C"'
    return [path for (path,) in world.app.connection.execute(query).fetchall()]


def await_paths(world: BoundWorld, *paths: str) -> None:
    eventually(lambda: paths_of(world) == sorted(paths), f"{sorted(paths)} are the paths; they are {paths_of(world)}")


def await_rest(world: BoundWorld, *files: str) -> None:
    """Return when these are the files, and nothing is left to do."""
    eventually(lambda: files_of(world) == sorted(files), f"{sorted(files)} are the files; they are {files_of(world)}")
    world.await_rest()
    assert files_of(world) == sorted(files)
    assert world.status()["problems"] == []


def rename(world: BoundWorld, before: str, after: str) -> None:
    world.mirrord.file(before).rename(world.mirrord.file(after))


def rename_with_directory(world: BoundWorld, before: str, after: str) -> None:
    """Rename a page and the directory of those below it, which the binding sees together."""
    world.bind("pause", "kb")
    rename(world, before, after)
    rename(world, f"{before}.md", f"{after}.md")
    world.mirrord.flush()
    world.bind("resume", "kb")


def test_a_file_that_is_renamed_or_moved_writes_its_path_and_keeps_its_title(wiki: BoundWorld) -> None:
    rename(wiki, "garden/beans.md", "garden/green beans.md")
    await_paths(wiki, "garden/green beans", *PATHS[1:])
    rename(wiki, "garden/green beans.md", "house/attic/beans.md")
    await_paths(wiki, "house/attic/beans", *PATHS[1:])
    rename(wiki, "house/attic/beans.md", "beans.md")
    await_paths(wiki, "beans", *PATHS[1:])
    await_rest(wiki, "beans.md", *(file for file in FILES if file != "garden/beans.md"))
    query = "SELECT title, revision, body FROM kb.wiki WHERE path = 'beans'"
    assert wiki.app.connection.execute(query).fetchone() == ("Garden/Beans", 4, "garden/beans\n")
    wiki.await_text("beans.md", "title: Garden/Beans\n")
    rename(wiki, "garden/old/peas.md", "peas.md")
    await_paths(wiki, "beans", "peas", *PATHS[2:])
    await_rest(wiki, "beans.md", "peas.md", "house.md", "house/bath.md", "house/attic.md", "house/attic/box.md")


def test_a_folder_of_paths_that_is_renamed_renames_all_paths_below(wiki: BoundWorld) -> None:
    before = pages_of(wiki)
    rename_with_directory(wiki, "garden", "park")
    await_paths(wiki, "park/beans", "park/old/peas", *PATHS[2:])
    files = [file.replace("garden", "park") for file in FILES]
    await_rest(wiki, *files)
    wiki.await_text("park.md", "title: park\n")
    text = wiki.await_text("park/old/peas.md", "garden/old/peas")
    wiki.mirrord.file("park/old/peas.md").write_text(text.replace("garden/old/peas\n", "Sweet.\n"))
    query = "SELECT body FROM kb.wiki WHERE path = 'park/old/peas'"
    eventually(lambda: value(wiki.admin, query) == "Sweet.\n", "an edit below reaches its row")
    rename_with_directory(wiki, "park/old", "old")
    await_paths(wiki, "park/beans", "old/peas", *PATHS[2:])
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'old/corn' WHERE path = 'park/beans'")
    await_rest(wiki, "old.md", "old/peas.md", "old/corn.md", *FILES[4:])
    assert pages_of(wiki)["garden/beans"] == before["garden/beans"]
    assert value(wiki.admin, "SELECT count(*) FROM mirrord.binding_entry") == 7


def test_a_page_with_pages_below_it_takes_their_paths_along(wiki: BoundWorld) -> None:
    rename_with_directory(wiki, "house", "garden/home")
    await_paths(wiki, *PATHS[:2], "garden/home", "garden/home/bath", "garden/home/attic/box")
    await_rest(wiki, *(file.replace("house", "garden/home") for file in FILES))
    wiki.app.connection.execute("UPDATE kb.wiki SET path = replace(path, 'garden/home', 'home')")
    await_rest(wiki, *(file.replace("house", "home") for file in FILES))


def test_new_pages_get_paths_where_they_are(wiki: BoundWorld) -> None:
    wiki.mirrord.file("garden/corn.md").write_text("Yellow.\n")
    wiki.mirrord.file("shed.md").write_text("---\ntitle: The shed\n---\nS.\n")
    await_paths(wiki, "garden/corn", "shed", *PATHS)
    wiki.mirrord.file("shed").mkdir(exist_ok=True)
    wiki.mirrord.file("shed/tools.md").write_text("T.\n")
    await_paths(wiki, "garden/corn", "shed", "shed/tools", *PATHS)
    await_rest(wiki, *FILES, "garden/corn.md", "shed.md", "shed/tools.md")
    assert value(wiki.admin, "SELECT title FROM kb.wiki WHERE path = 'shed'") == "The shed"


def test_a_folder_that_is_deleted_with_all_in_it_deletes_their_rows(wiki: BoundWorld) -> None:
    for number in range(12):
        add_page(wiki, f"other{number}")
    others = [f"other{number}.md" for number in range(12)]
    await_rest(wiki, *FILES, *others)
    shutil.rmtree(wiki.mirrord.file("garden"))
    wiki.mirrord.file("garden.md").unlink()
    eventually(lambda: not [path for path in paths_of(wiki) if path.startswith("garden")], "their rows are deleted")
    await_rest(wiki, *FILES[4:], *others)
    eventually(
        lambda: value(wiki.admin, "SELECT count(*) FROM mirrord.binding_entry") == 4 + 12, "the folders are forgotten"
    )
    add_page(wiki, "garden/new", "N.\n")
    await_rest(wiki, "garden.md", "garden/new.md", *FILES[4:], *others)


def test_both_sides_move_a_page_and_agree_on_one_place(wiki: BoundWorld) -> None:
    wiki.bind("pause", "kb")
    text = wiki.mirrord.text("garden/beans.md") or ""
    wiki.mirrord.file("garden/beans.md").write_text(text + "\nMore.\n")
    rename(wiki, "garden/beans.md", "garden/mine.md")
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'house/theirs' WHERE path = 'garden/beans'")
    wiki.mirrord.flush()
    wiki.bind("resume", "kb")
    query = "SELECT path FROM kb.wiki WHERE body LIKE '%More.%'"
    (path,) = eventually(lambda: wiki.app.connection.execute(query).fetchone(), "the text is in the row")
    assert path in ("garden/mine", "house/theirs")
    await_rest(wiki, f"{path}.md", *(file for file in FILES if file != "garden/beans.md"))
    wiki.await_text(f"{path}.md", "garden/beans\n", "More.")


def test_a_path_that_another_row_has_is_a_problem_and_no_row_is_written(wiki: BoundWorld) -> None:
    wiki.app.connection.execute("DROP INDEX kb.wiki_path_idx")
    add_page(wiki, "garden/beans", "Twin.\n")
    wiki.await_text("garden/beans (2).md", "Twin.")
    rename(wiki, "garden/beans.md", "garden/first.md")
    await_paths(wiki, "garden/beans", "garden/first", *PATHS[1:])
    rename(wiki, "house/bath.md", "garden/Beans.md")
    (problem,) = eventually(lambda: wiki.status()["problems"], "the move is a problem")
    assert "another page of the app has the path 'garden/beans'" in problem["sentence"]
    assert paths_of(wiki) == sorted(["garden/beans", "garden/first", *PATHS[1:]])


def test_what_is_written_into_a_folder_of_paths_is_a_problem_until_it_is_taken_out(wiki: BoundWorld) -> None:
    text = wiki.mirrord.text("garden.md") or ""
    wiki.mirrord.file("garden.md").write_text(text + "Mine.\n")
    (problem,) = eventually(lambda: wiki.status()["problems"], "the edit is a problem")
    assert "it is a folder of paths" in problem["sentence"]
    assert "Mine." in (wiki.mirrord.text("garden.md") or "")
    wiki.mirrord.file("garden.md").write_text(text)
    eventually(lambda: not wiki.status()["problems"], "the problem is over")
    await_rest(wiki, *FILES)
    assert paths_of(wiki) == sorted(PATHS)


def test_rows_below_that_the_app_holds_delay_the_move_of_all(wiki: BoundWorld) -> None:
    wiki.bind("pause", "kb")
    rename(wiki, "garden", "park")
    rename(wiki, "garden.md", "park.md")
    wiki.mirrord.flush()
    with wiki.app.connection.transaction():
        wiki.app.connection.execute("UPDATE kb.wiki SET body = 'Held.' WHERE path = 'garden/old/peas'")
        wiki.admin.execute("UPDATE mirrord.binding SET state = 'running'")  # `bind resume` would wait for the app
        text = wiki.await_text("house/bath.md", "house/bath")
        wiki.mirrord.file("house/bath.md").write_text(text.replace("house/bath\n", "Warm.\n"))
        query = "SELECT count(*) FROM kb.wiki WHERE body = 'Warm.\n' AND path = 'house/bath'"
        eventually(lambda: value(wiki.admin, query) == 1, "another page is written meanwhile")
        assert value(wiki.admin, "SELECT count(*) FROM kb.wiki WHERE starts_with(path, 'park')") == 0
    await_paths(wiki, "park/beans", "park/old/peas", *PATHS[2:])
    wiki.await_text("park/old/peas.md", "Held.")


def test_a_path_that_the_app_spells_in_another_way_is_the_name_of_the_file(wiki: BoundWorld) -> None:
    wiki.app.connection.execute(
        "CREATE FUNCTION kb.slug() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN NEW.path := replace(lower(NEW.path), ' ', '-'); RETURN NEW; END$$"
    )
    wiki.app.connection.execute(
        "CREATE TRIGGER slug BEFORE INSERT OR UPDATE ON kb.wiki FOR EACH ROW EXECUTE FUNCTION kb.slug()"
    )
    rename_with_directory(wiki, "house", "My house")
    await_paths(wiki, *PATHS[:2], "my-house", "my-house/bath", "my-house/attic/box")
    await_rest(wiki, *(file.replace("house", "my-house") for file in FILES))


def test_a_row_that_is_edited_while_the_app_deletes_its_folder_keeps_the_folder_for_new_pages(wiki: BoundWorld) -> None:
    others = [f"other{number}" for number in range(12)]
    for path in others:
        add_page(wiki, path)
    await_rest(wiki, *FILES, *(f"{path}.md" for path in others))
    wiki.bind("pause", "kb")
    text = wiki.mirrord.text("garden/old/peas.md") or ""
    wiki.mirrord.file("garden/old/peas.md").write_text(text + "\nMore.\n")
    wiki.mirrord.file("garden/old/corn.md").write_text("New.\n")
    wiki.mirrord.flush()
    wiki.app.connection.execute("UPDATE kb.wiki SET deleted = true WHERE path LIKE 'garden/%'")
    wiki.bind("resume", "kb")
    await_paths(wiki, "garden/old/peas", "garden/old/corn", *PATHS[2:], *others)
    files = ["garden/old/corn.md", *(file for file in FILES if file != "garden/beans.md")]
    await_rest(wiki, *files, *(f"{path}.md" for path in others))
    assert paths_of(wiki) == sorted(["garden/old/peas", "garden/old/corn", *PATHS[2:], *others])
