"""An app with a path in each row, in place of a parent: folders come from paths, and rows and folders change places."""

import os
from pathlib import Path

import pytest

from tests.binding.knowledge_base import BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

TABLE = """
CREATE TABLE kb.wiki (
    id serial PRIMARY KEY, path varchar(3000), title text NOT NULL, body text,
    deleted boolean NOT NULL DEFAULT false, is_private boolean NOT NULL DEFAULT false)"""
MAPPING = """
[binding]
name = "kb"
[page]
table = "kb.wiki"
id = "id"
title = "title"
path = "path"
deleted = "deleted"
filter = { is_private = false }
[body]
column = "body"
format = "markdown"
"""


@pytest.fixture
def wiki(world: BoundWorld) -> BoundWorld:
    """A table with paths, no rows and no binding."""
    world.app.connection.execute(TABLE.encode())
    world.mapping.write_text(MAPPING)
    return world


def start(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    world.mirrord.up()


def add_page(world: BoundWorld, path: str | None, body: str = "T.\n", title: str = "Title") -> int:
    query = "INSERT INTO kb.wiki (path, title, body) VALUES (%s, %s, %s) RETURNING id"
    return int(world.app.connection.execute(query, [path, title, body]).fetchone()[0])  # type: ignore[index]


def files_of(world: BoundWorld) -> list[str]:
    root = world.mirrord.root
    files = (Path(directory, name).relative_to(root) for directory, _, names in os.walk(root) for name in names)
    return sorted(str(file) for file in files if file.suffix == ".md" and ".mirrord" not in file.parts)


def await_files(world: BoundWorld, *files: str) -> None:
    """Return when these are the files, and nothing is left to do."""
    expected = sorted(files)
    eventually(lambda: files_of(world) == expected, f"{expected} are the files; they are {files_of(world)}")
    world.await_rest()
    assert files_of(world) == expected


def pages_of(world: BoundWorld) -> dict[str, str]:
    """The ids of living pages with a title, by their bodies."""
    query = "SELECT markdown, id::text FROM mirrord.page WHERE deleted_at IS NULL"
    return {markdown.split("---\n")[-1].strip(): page for markdown, page in world.admin.execute(query).fetchall()}


def test_rows_are_files_at_their_paths_and_folders_are_pages_without_a_body(wiki: BoundWorld) -> None:
    add_page(wiki, "home", "H.\n", "Welcome")
    add_page(wiki, "garden/beans", "B.\n", "My beans")
    add_page(wiki, "garden/beans/soil", "S.\n", "Soil")
    add_page(wiki, "a b/c/Ü", "Ü.\n", "Deep")
    start(wiki)
    await_files(
        wiki, "home.md", "garden.md", "garden/beans.md", "garden/beans/soil.md", "a b.md", "a b/c.md", "a b/c/Ü.md"
    )
    wiki.await_text("garden/beans.md", "title: My beans\n", "B.")
    wiki.await_text("garden.md", "title: garden\n")
    assert wiki.status()["problems"] == []
    assert wiki.status()["pages"] == 7


def test_a_path_that_changes_moves_its_page_which_keeps_its_id(wiki: BoundWorld) -> None:
    beans, peas = add_page(wiki, "garden/beans", "B.\n"), add_page(wiki, "garden/peas", "P.\n")
    start(wiki)
    await_files(wiki, "garden.md", "garden/beans.md", "garden/peas.md")
    before = pages_of(wiki)
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'house/window/beans' WHERE id = %s", [beans])
    await_files(wiki, "garden.md", "garden/peas.md", "house.md", "house/window.md", "house/window/beans.md")
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'peas' WHERE id = %s", [peas])
    await_files(wiki, "peas.md", "house.md", "house/window.md", "house/window/beans.md")
    wiki.app.connection.execute("UPDATE kb.wiki SET path = replace(path, 'house/', 'home/')")
    await_files(wiki, "peas.md", "home.md", "home/window.md", "home/window/beans.md")
    after = pages_of(wiki)
    assert (after["B."], after["P."]) == (before["B."], before["P."])
    assert wiki.status()["problems"] == []


def test_a_row_takes_the_place_of_its_folder_and_leaves_it_again(wiki: BoundWorld) -> None:
    add_page(wiki, "garden/beans", "B.\n")
    add_page(wiki, "garden/old/peas", "P.\n")
    for number in range(8):
        add_page(wiki, f"other{number}", f"{number}.\n")
    others = [f"other{number}.md" for number in range(8)]
    start(wiki)
    files = ["garden.md", "garden/beans.md", "garden/old.md", "garden/old/peas.md", *others]
    await_files(wiki, *files)
    before = pages_of(wiki)
    garden = add_page(wiki, "garden", "G.\n", "The garden")
    wiki.await_text("garden.md", "G.", "title: The garden")
    await_files(wiki, *files)
    wiki.app.connection.execute("UPDATE kb.wiki SET deleted = true WHERE id = %s", [garden])
    wiki.await_text("garden.md", "title: garden\n")
    await_files(wiki, *files)
    wiki.app.connection.execute("UPDATE kb.wiki SET deleted = false, path = 'park' WHERE id = %s", [garden])
    wiki.await_text("park.md", "G.")
    await_files(wiki, "park.md", *files)
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'garden' WHERE id = %s", [garden])
    wiki.await_text("garden.md", "G.")
    await_files(wiki, *files)
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'park' WHERE id = %s", [garden])
    wiki.await_text("garden.md", "title: garden\n")
    await_files(wiki, "park.md", *files)
    after = pages_of(wiki)
    assert (after["B."], after["P."]) == (before["B."], before["P."])
    assert wiki.status()["problems"] == []


@pytest.mark.parametrize("path", ["/absolute", "a/../b", "a//b", "..", "", None, "x" * 2000, "/".join("a" * 60)])
def test_a_path_that_is_no_place_is_a_problem_of_its_row_alone(wiki: BoundWorld, path: str | None) -> None:
    start(wiki)
    page = add_page(wiki, path, "Hidden.\n", "Odd")
    add_page(wiki, "garden/beans", "B.\n")
    await_files(wiki, "garden.md", "garden/beans.md")
    (problem,) = eventually(lambda: wiki.status()["problems"], "the path is a problem")
    assert "'Odd' is not carried over: " in problem["sentence"]
    assert "path" in problem["sentence"]
    assert wiki.app.connection.execute("SELECT path FROM kb.wiki WHERE id = %s", [page]).fetchone() == (path,)
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'garden/odd' WHERE id = %s", [page])
    await_files(wiki, "garden.md", "garden/beans.md", "garden/odd.md")
    eventually(lambda: not wiki.status()["problems"], "the problem is over")
    wiki.app.connection.execute("UPDATE kb.wiki SET path = %s WHERE id = %s", [path, page])
    eventually(lambda: wiki.status()["problems"], "the path is a problem again")
    await_files(wiki, "garden.md", "garden/beans.md", "garden/odd.md")


def test_equal_paths_and_those_that_differ_in_case_get_numbers(wiki: BoundWorld) -> None:
    for path in ("garden/beans", "garden/beans", "garden/Beans", "Garden/peas"):
        add_page(wiki, path, f"{path}\n")
    report = wiki.bind("check", str(wiki.mapping))
    assert "6 rows would be pages" in report
    start(wiki)
    eventually(lambda: len(files_of(wiki)) == 6, "rows and folders are files")
    wiki.await_rest()
    assert {file.lower() for file in files_of(wiki)} >= {"garden.md", "garden (2).md", "garden/beans.md"}
    assert sorted(pages_of(wiki)) == ["", "Garden/peas", "garden/Beans", "garden/beans"]
    assert wiki.status()["problems"] == []


def test_what_a_person_does_to_a_page_or_a_folder_of_a_path_is_taken_back(wiki: BoundWorld) -> None:
    for name in ("beans", "peas"):
        add_page(wiki, f"garden/{name}", f"{name}\n")
    for number in range(8):
        add_page(wiki, f"other{number}")
    others = [f"other{number}.md" for number in range(8)]
    start(wiki)
    await_files(wiki, "garden.md", "garden/beans.md", "garden/peas.md", *others)
    wiki.mirrord.file("garden").rename(wiki.mirrord.file("park"))
    wiki.mirrord.file("garden.md").rename(wiki.mirrord.file("park.md"))
    eventually(lambda: wiki.status()["problems"], "the move is refused")
    await_files(wiki, "garden.md", "garden/beans.md", "garden/peas.md", *others)
    text = wiki.mirrord.text("garden.md") or ""
    wiki.mirrord.file("garden.md").write_text(text + "Mine.\n")
    eventually(lambda: "Mine." not in (wiki.mirrord.text("garden.md") or ""), "the edit is taken back")


def test_private_rows_make_no_folder_and_one_that_becomes_private_leaves_none(wiki: BoundWorld) -> None:
    for number in range(8):
        add_page(wiki, f"other{number}")
    others = [f"other{number}.md" for number in range(8)]
    page = add_page(wiki, "secret/plan", "P.\n")
    start(wiki)
    await_files(wiki, "secret.md", "secret/plan.md", *others)
    wiki.app.connection.execute("UPDATE kb.wiki SET is_private = true WHERE id = %s", [page])
    await_files(wiki, *others)
    query = "INSERT INTO kb.wiki (path, title, is_private) VALUES ('hidden/plan', 'x', true)"
    wiki.app.connection.execute(query)
    add_page(wiki, "last")
    await_files(wiki, "last.md", *others)
    assert value(wiki.admin, "SELECT count(*) FROM mirrord.page WHERE name = 'hidden'") == 0


def test_changes_while_the_daemon_is_down_are_found_by_comparing(wiki: BoundWorld) -> None:
    wiki.mapping.write_text(MAPPING.replace('name = "kb"', 'name = "kb"\nwatch = "poll"\npoll_seconds = 1'))
    for number in range(300):
        add_page(wiki, f"a{number % 7}/b{number % 13}/page {number}", f"{number}\n")
    start(wiki)
    wiki.await_text("a5/b0/page 299.md", "299")
    eventually(lambda: len(files_of(wiki)) == 300 + 7 + 91, "all pages and folders are files")
    wiki.app.connection.execute("UPDATE kb.wiki SET path = 'z' || substr(path, 2) WHERE path LIKE 'a3/%'")
    eventually(lambda: not [file for file in files_of(wiki) if file.startswith("a3")], "the folder is gone")
    assert len(files_of(wiki)) == 300 + 7 + 91
    assert wiki.status()["problems"] == []
