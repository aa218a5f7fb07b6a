"""Rows that apps should not write: refused with a sentence, or given a name that stays in the tree."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import digest_of
from tests.support.commands import Near
from tests.support.entries import add_attachment, add_page, change, row_of, value
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs, look_everywhere


@pytest.fixture(scope="module")
def daemon(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("rows"), tenant="bad-rows", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def mirrord(daemon: Mirrord) -> Iterator[Mirrord]:
    """The daemon: it goes on syncing after the test, and has written nothing but pages in its tree."""
    yield daemon
    look_everywhere(daemon)
    assert_syncs(daemon)
    assert {entry.name for entry in daemon.directory.iterdir()} <= {"mirror", "data", "daemon.log"}
    assert {entry.name for entry in daemon.mirror.iterdir()} == {".mirrord", daemon.tenant}
    assert list((daemon.root / ".mirrord").rglob("*.md")) == []


@pytest.mark.parametrize("name", ["../../outside", "../outside", "..", ".mirrord", ".mirrord/id", "assets", "_index"])
def test_a_reserved_name_is_refused_with_a_sentence(mirrord: Mirrord, name: str) -> None:
    page = add_page(mirrord.app, name=f"Before {uuid4()}", markdown="text")
    with pytest.raises(psycopg.errors.CheckViolation, match=r"reserved.*belong to the tree"):
        add_page(mirrord.app, name=name, markdown="text")
    with pytest.raises(psycopg.errors.CheckViolation, match=r"reserved.*belong to the tree"):
        change(mirrord.app, page, name=name)
    assert row_of(mirrord.app, page)["name"].startswith("Before ")


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("../../climbing", "climbing.md"),
        ("/etc/absolute", "etc-absolute.md"),
        (".mirrord", "mirrord.md"),
        (".mirrord/state.db", "mirrord-state.db.md"),
        ("assets", "assets_.md"),
        ("_index", "_index_.md"),
    ],
)
def test_a_title_that_would_leave_the_tree_makes_a_name_that_stays_in_it(
    mirrord: Mirrord, title: str, path: str
) -> None:
    page = add_page(mirrord.app, title=title, markdown=f"the page {title}\n")
    eventually(lambda: f"the page {title}\n" in (mirrord.text(path) or ""), f"a file {path}")
    assert row_of(mirrord.app, page)["title"] == title


@pytest.mark.parametrize(
    ("name", "path"),
    [("either/or", "either-or.md"), ("up/../../down", "up-..-..-down.md"), ("/root", "root.md"), ("a\\b", "a-b.md")],
)
def test_a_name_with_a_slash_is_one_name_with_a_dash(mirrord: Mirrord, name: str, path: str) -> None:
    add_page(mirrord.app, name=name, markdown=f"the page {name}\n")
    eventually(lambda: f"the page {name}\n" in (mirrord.text(path) or ""), f"a file {path}")
    assert mirrord.page(path) is not None


def test_an_attachment_whose_name_climbs_stays_below_assets(mirrord: Mirrord) -> None:
    data = b"a picture"
    mirrord.app.execute("INSERT INTO mirrord.blob (digest, part, bytes) VALUES (%s, 0, %s)", [digest_of(data), data])
    add_attachment(mirrord.app, name="../../.mirrord/climbing.png", digest=digest_of(data), size=len(data))
    files = eventually(lambda: list(mirrord.file("assets").rglob("climbing.png")), "the attachment's file")
    assert [file.read_bytes() for file in files] == [data]


def test_nul_is_refused_in_every_column(mirrord: Mirrord) -> None:
    page = add_page(mirrord.app, name=f"Zero {uuid4()}", markdown="text")
    for column in ("name", "title", "markdown"):
        statement = f"UPDATE mirrord.page SET {column} = 'a' || chr(0) WHERE id = %s"
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="null character not permitted"):
            mirrord.app.execute(statement.encode(), [page])
    words = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "a\0b"}]}]}
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        mirrord.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(words), page])
    assert row_of(mirrord.app, page)["markdown"].endswith("text")


def test_a_parent_that_does_not_exist_is_refused(mirrord: Mirrord) -> None:
    page = add_page(mirrord.app, name=f"Orphan {uuid4()}", markdown="text")
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="page_parent_exists"):
        change(mirrord.app, page, parent_id=uuid4())
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="page_parent_exists"):
        add_page(mirrord.app, parent_id=uuid4(), markdown="text")
    assert row_of(mirrord.app, page)["parent_id"] is None


def test_a_parent_that_is_deleted_is_refused(mirrord: Mirrord) -> None:
    parent = add_page(mirrord.app, name=f"Deleted {uuid4()}", markdown="text")
    mirrord.app.execute("DELETE FROM mirrord.page WHERE id = %s", [parent])
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match=f"the parent {parent} is deleted"):
        add_page(mirrord.app, parent_id=parent, markdown="text")


def test_parents_in_a_circle_are_refused_and_files_stay_where_they_are(mirrord: Mirrord) -> None:
    above, below = _family(mirrord)
    with pytest.raises(psycopg.errors.CheckViolation, match="page_is_not_its_own_parent"):
        change(mirrord.app, above, parent_id=above)
    with pytest.raises(psycopg.errors.CheckViolation, match="cannot be moved below itself"):
        change(mirrord.app, above, parent_id=below)
    assert row_of(mirrord.app, above)["parent_id"] is None
    assert value(mirrord.app, "SELECT parent_id FROM mirrord.page WHERE id = %s", below) == above


def _family(mirrord: Mirrord) -> tuple[UUID, UUID]:
    """A page with a child, both with files."""
    name = f"Above {uuid4()}"
    above = add_page(mirrord.app, name=name, markdown="above")
    below = add_page(mirrord.app, parent_id=above, name="Below", markdown="below")
    eventually(lambda: mirrord.text(f"{name}/Below.md"), "the file of the child")
    return above, below


@pytest.mark.parametrize("view", ["page", "page_editor"])
@pytest.mark.parametrize("text", [[], {}, 1.5, True, None])
def test_a_node_with_a_text_that_is_none_is_a_problem_of_its_page_alone(
    mirrord: Mirrord, view: str, text: object
) -> None:
    page = add_page(mirrord.app, name=f"Odd {uuid4()}", markdown="text\n")
    mirrord.flush()
    document = {"type": "doc", "content": [{"type": "heading", "text": text}, {"type": "paragraph"}]}
    mirrord.app.execute(f"UPDATE mirrord.{view} SET content = %s WHERE id = %s".encode(), (Jsonb(document), page))
    eventually(
        lambda: value(mirrord.app, "SELECT count(*) FROM mirrord.problem WHERE entry_id = %s", page) == 1,
        "the document is a problem",
    )
    assert_syncs(mirrord)
    mirrord.app.execute("DELETE FROM mirrord.page WHERE id = %s", (page,))
