"""Collections by tool, by hand and by an app's SQL: equal on all sides, told once, and nothing left behind."""

from collections.abc import Iterator
from functools import partial

import pytest
from psycopg.errors import ObjectNotInPrerequisiteState
from psycopg.types.json import Jsonb

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.research.collections.collection_content import collection_content, list_records
from mirrord.research.collections.collection_rules import CATEGORIES, COLLECTIONS
from mirrord.research.collections.group_commands import (
    add_category,
    add_collection,
    change_category,
    change_collection,
    remove_category,
    update_collection,
)
from tests.support.agents import agent
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import problem

list_categories = partial(list_records, kind=CATEGORIES)
list_collections = partial(list_records, kind=COLLECTIONS)

Row = tuple[str, dict[str, object] | None, str | None]


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("collections"), tenant="collections", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def session(mirrord: Mirrord) -> Iterator[Session]:
    with agent(mirrord) as connected:
        yield connected


def _row(mirrord: Mirrord, kind: str, key: str) -> Row | None:
    row = mirrord.app.execute(
        "SELECT id::text, data, text FROM record WHERE kind = %s AND key = %s AND deleted_at IS NULL AND ahead = '{}'",
        [kind, key],
    ).fetchone()
    return (row[0], row[1], row[2]) if row else None


def _equal(mirrord: Mirrord, kind: str, key: str) -> Row:
    """The row once it holds what the file holds."""
    path = f".records/{'categories' if kind == 'category' else 'collections'}/{key}.yaml"
    return eventually(
        lambda: row if (row := _row(mirrord, kind, key)) and row[2] == mirrord.text(path) else None, f"equal {path}"
    )


def test_what_tools_change_is_in_the_rows_and_told_once(mirrord: Mirrord, session: Session) -> None:
    save(mirrord.file("Books/A.md"), "text")
    add_category(session, "novels", "Books", ["*.md"])
    add_category(session, "poems", "Poems")
    add_collection(session, "reading", "what I read", ["novels", "poems"])
    before = _equal(mirrord, "category", "novels")
    assert _equal(mirrord, "collection", "reading")[1] == {
        "categories": ["novels", "poems"],
        "description": "what I read",
        "created": list_collections(session, verbose=True).values[0]["created"],
    }
    change_category(session, "novels", new_name="fiction")
    remove_category(session, "poems")

    after = _equal(mirrord, "category", "fiction")
    assert after[0] == before[0]
    eventually(lambda: _row(mirrord, "category", "poems") is None, "the removed category's row to end")
    eventually(
        lambda: (
            (row := _row(mirrord, "collection", "reading")) is not None
            and row[1] is not None
            and row[1]["categories"] == ["fiction"]
        ),
        "the collection that follows",
    )
    recorded = [
        *("CategoryAdded", "CategoryAdded", "CollectionAdded", "CategoryChanged", "CollectionUpdated"),
        *("CategoryRemoved", "CollectionUpdated"),
    ]
    eventually(
        lambda: (
            [
                kind
                for (kind,) in mirrord.app.execute(
                    "SELECT type FROM event WHERE type LIKE 'C%' ORDER BY occurred_at, id"
                ).fetchall()
            ]
            == recorded
        ),
        "the events in their order, once each",
    )
    eventually(lambda: not list(mirrord.file(".mirrord/tmp").glob("*/a.*")), "the copies of what was written to go")
    assert [page.path for page in collection_content(session, "reading").pages] == ["Books/A.md"]

    first = _equal(mirrord, "collection", "reading")
    change_collection(session, "reading", new_name="Reading", description="")
    second = _equal(mirrord, "collection", "Reading")
    assert second[0] == first[0]
    assert _row(mirrord, "collection", "reading") is None


def test_what_people_and_apps_change_is_what_tools_see_and_change_further(mirrord: Mirrord, session: Session) -> None:
    path, text = ".records/collections/mine.yaml", "# mine\ncategories:\n  - one  # first\nkept: [1, 2]\n"
    for name in ("one", "two", "three"):
        add_category(session, name)
    save(mirrord.file(path), text)
    _equal(mirrord, "collection", "mine")
    update_collection(session, "mine", ["two"])
    _equal(mirrord, "collection", "mine")
    cursor = mirrord.app.execute(
        "UPDATE record SET data = jsonb_set(data, '{categories}', data -> 'categories' || '[\"three\"]') "
        "WHERE kind = 'collection' AND key = 'mine'"
    )
    assert cursor.rowcount == 1

    expected = text.replace("  # first\n", "  # first\n  - two\n  - three\n")
    eventually(lambda: mirrord.text(path) == expected, "the app's change in the file")
    mine = next(collection for collection in list_collections(session).values if collection["name"] == "mine")
    assert mine["categories"] == ["one", "two", "three"]
    mirrord.app.execute(
        "INSERT INTO record (kind, key, data) VALUES ('category', 'of-app', %s)", [Jsonb({"dir": "Apps"})]
    )
    eventually(
        lambda: "of-app" in [category["name"] for category in list_categories(session).values],
        "the app's category in the list",
    )
    assert update_collection(session, "mine", ["of-app"], ["two"]).value["categories"] == ["one", "three", "of-app"]
    _equal(mirrord, "collection", "mine")
    row = mirrord.app.execute("SELECT categories FROM collection WHERE name = 'mine'").fetchone()
    assert row == (["one", "three", "of-app"],)


def test_a_broken_hand_edit_is_a_problem_with_its_line_and_nobody_overwrites_it(
    mirrord: Mirrord, session: Session
) -> None:
    path, broken = ".records/collections/broken.yaml", "# mine\ncategories:\n  - [one\nkept: 1\n"
    add_collection(session, "broken", "still")
    _equal(mirrord, "collection", "broken")
    text = mirrord.text(path)
    assert text is not None
    save(mirrord.file(path), broken)
    sentence = eventually(lambda: problem(mirrord, path), "the problem in Postgres")
    assert "line" in str(sentence)
    with pytest.raises(Failed, match=r"line \d") as caught:
        update_collection(session, "broken", None, ["one"])
    assert caught.value.kind == "write_error"
    _equal(mirrord, "collection", "broken")
    with pytest.raises(ObjectNotInPrerequisiteState, match="cannot be read"):
        mirrord.app.execute("UPDATE record SET data = '{}' WHERE key = 'broken'")
    assert mirrord.text(path) == broken
    save(mirrord.file(path), "# mine\ncategories: [one, true]\n")
    eventually(
        lambda: "line 2: `categories` is not a list of texts" in (problem(mirrord, path) or ""),
        "the problem of what can be read but means nothing",
    )
    save(mirrord.file(path), text)
    eventually(lambda: problem(mirrord, path) is None, "the problem to go")


def test_a_text_that_a_tool_wrote_and_somebody_overwrote_at_once_is_in_the_trash(
    mirrord: Mirrord, session: Session
) -> None:
    path = ".records/categories/quick.yaml"
    add_category(session, "quick", "One")
    _equal(mirrord, "category", "quick")
    with mirrord.frozen():
        change_category(session, "quick", dir="Two")
        ours = mirrord.text(path)
        save(mirrord.file(path), "dir: Three\n")
    assert ours is not None
    eventually(lambda: (row := _row(mirrord, "category", "quick")) is not None and row[2] == "dir: Three\n", "the save")
    trash = mirrord.file(".mirrord/trash")
    eventually(lambda: any(file.read_text() == ours for file in trash.glob("w.*")), "what the tool wrote, in the trash")
    eventually(lambda: not list(mirrord.file(".mirrord/tmp").glob("*/a.*")), "the copies to go")
    mirrord.flush()
    assert mirrord.check() == {}
