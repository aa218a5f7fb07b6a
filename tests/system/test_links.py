"""Links in Postgres: what pages say, what that means, and how it follows when other pages come, go and are renamed."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Awaited, Mirrord, eventually
from tests.support.health import look_everywhere
from tests.support.rows import page_of

VAULT = Path(__file__).parents[3] / "shared" / "corpora" / "foam" / "docs"
TARGET_NAME = "(SELECT name FROM page WHERE id = target_id UNION ALL SELECT name FROM attachment WHERE id = target_id)"


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module; each works in a folder of its own."""
    with Near(tmp_path_factory.mktemp("links"), tenant="links", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def alone(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """An installation whose daemon is down; only it uses its database."""
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        yield installed


def _links(mirrord: Mirrord, path: str) -> list[tuple[Any, ...]]:
    """(kind, target, name of what is meant or None, ambiguous) of a page's links."""
    page = mirrord.page(path)
    query = f"SELECT kind, target, {TARGET_NAME}, ambiguous FROM page_link WHERE source_id = %s ORDER BY number"
    return mirrord.app.execute(query.encode(), [page.id]).fetchall() if page else []


def _await_links(mirrord: Mirrord, path: str, *expected: tuple[Any, ...]) -> None:
    expected_links = list(expected)
    try:
        eventually(lambda: _links(mirrord, path) == expected_links, f"the links of {path}")
    except Awaited:
        assert _links(mirrord, path) == expected_links


def _await_meaning(mirrord: Mirrord, path: str, *names: str | None) -> None:
    eventually(lambda: [row[2] for row in _links(mirrord, path)] == list(names), f"{path} to link to {names}")


def _settled(mirrord: Mirrord) -> bool:
    """Whether every document is there and every link looked up."""
    query = (
        "SELECT NOT EXISTS (SELECT FROM page WHERE content IS NULL AND kind = 'page' AND deleted_at IS NULL) "
        "AND NOT EXISTS (SELECT FROM page_link WHERE due) "
        "AND NOT EXISTS (SELECT FROM entry_feed WHERE (seq, entry_id) > (SELECT seq, entry_id FROM link_cursor))"
    )
    row = mirrord.app.execute(query).fetchone()
    return bool(row and row[0])


def _await_settled(mirrord: Mirrord, seconds: float = 60.0) -> None:
    look_everywhere(mirrord)
    eventually(lambda: _settled(mirrord), "every link to be looked up", seconds, pause=0.05)


def _id(mirrord: Mirrord, path: str) -> UUID:
    return eventually(lambda: mirrord.page(path), f"a row of {path}").id


def test_links_of_every_kind_are_listed_in_order_with_what_they_mean(mirrord: Mirrord) -> None:
    save(mirrord.file("Kinds/assets/map.png"), b"\x89PNG")
    save(mirrord.file("Kinds/My Page.md"), "x\n")
    save(
        mirrord.file("Kinds/Source.md"),
        "---\nsee: '[[My Page]]'\n---\n[[My Page#Part|shown]] and ![[map.png]]\n\n"
        "[a](My%20Page.md#the%20part) ![m](assets/map.png)\n\n[[#Here]] [[Nobody]]\n\n"
        "`[[My Page]]`\n\n```\n[[My Page]]\n```\n\n[out](https://example.org)\n",
    )
    _await_links(
        mirrord,
        "Kinds/Source",
        ("wikilink", "My Page", "My Page", False),
        ("wikilink", "My Page", "My Page", False),
        ("embed", "map.png", "map.png", False),
        ("markdown", "My Page.md", "My Page", False),
        ("image", "assets/map.png", "map.png", False),
        ("wikilink", "", "Source", False),
        ("wikilink", "Nobody", None, False),
    )
    rows = mirrord.app.execute(
        "SELECT heading, alias FROM page_link WHERE source_id = %s ORDER BY number", [_id(mirrord, "Kinds/Source")]
    ).fetchall()
    assert rows == [
        (None, None),
        ("Part", "shown"),
        (None, None),
        ("the part", "a"),
        (None, "m"),
        ("Here", None),
        (None, None),
    ]


def test_a_link_follows_its_target_through_creation_rename_deletion_and_restoration(mirrord: Mirrord) -> None:
    save(mirrord.file("Life/Source.md"), "[[Born Later]]\n")
    _await_links(mirrord, "Life/Source", ("wikilink", "Born Later", None, False))

    save(mirrord.file("Life/Born Later.md"), "x\n")
    _await_meaning(mirrord, "Life/Source", "Born Later")

    target = _id(mirrord, "Life/Born Later")
    mirrord.file("Life/Born Later.md").rename(mirrord.file("Life/Else.md"))
    _await_meaning(mirrord, "Life/Source", None)

    mirrord.file("Life/Else.md").rename(mirrord.file("Life/born later.md"))
    _await_meaning(mirrord, "Life/Source", "born later")

    mirrord.app.execute("DELETE FROM page WHERE id = %s", [target])
    _await_meaning(mirrord, "Life/Source", None)

    mirrord.app.execute("UPDATE page SET deleted_at = NULL WHERE id = %s", [target])
    _await_meaning(mirrord, "Life/Source", "born later")


def test_a_second_page_of_the_name_makes_a_link_ambiguous_until_one_goes(mirrord: Mirrord) -> None:
    save(mirrord.file("Twins/Source.md"), "[[Twin Page]]\n")
    save(mirrord.file("Twins/A/Twin Page.md"), "a\n")
    _await_meaning(mirrord, "Twins/Source", "Twin Page")
    save(mirrord.file("Twins/B/Twin Page.md"), "b\n")
    _await_links(mirrord, "Twins/Source", ("wikilink", "Twin Page", None, True))

    mirrord.app.execute("DELETE FROM page WHERE id = %s", [_id(mirrord, "Twins/A/Twin Page")])
    _await_links(mirrord, "Twins/Source", ("wikilink", "Twin Page", "Twin Page", False))


def test_a_link_means_a_page_by_its_title_or_alias_while_it_has_it(mirrord: Mirrord) -> None:
    save(mirrord.file("Called/Source.md"), "[[A Long Title]] [[Nick]]\n")
    save(mirrord.file("Called/p1.md"), "---\ntitle: A long title\naliases: [Nick]\n---\nx\n")
    _await_meaning(mirrord, "Called/Source", "p1", "p1")

    save(mirrord.file("Called/p1.md"), "---\ntitle: Short\naliases: [Nick]\n---\nx\n")
    _await_meaning(mirrord, "Called/Source", None, "p1")

    save(mirrord.file("Called/p1.md"), "---\ntitle: Short\n---\nx\n")
    _await_meaning(mirrord, "Called/Source", None, None)
    save(mirrord.file("Called/p1.md"), "---\ntitle: A long title\n---\nx\n")
    _await_meaning(mirrord, "Called/Source", "p1", None)


def test_a_link_to_a_file_lasts_as_long_as_the_file(mirrord: Mirrord) -> None:
    save(mirrord.file("Files/Source.md"), "![p](assets/plan.png) ![[plan.png]]\n")
    _await_meaning(mirrord, "Files/Source", None, None)
    save(mirrord.file("Files/assets/plan.png"), b"\x89PNG")
    _await_meaning(mirrord, "Files/Source", "plan.png", "plan.png")
    mirrord.file("Files/assets/plan.png").rename(mirrord.file("Files/assets/other.png"))
    _await_meaning(mirrord, "Files/Source", None, None)


def test_what_happened_while_the_daemon_was_down_is_noticed(mirrord: Mirrord) -> None:
    save(mirrord.file("Down/Source.md"), "[[Down Old]] [[Down New]]\n")
    save(mirrord.file("Down/Down Old.md"), "x\n")
    _await_meaning(mirrord, "Down/Source", "Down Old", None)
    page = _id(mirrord, "Down/Down Old")
    mirrord.stop()
    mirrord.app.execute("UPDATE page SET name = 'Down New' WHERE id = %s", [page])
    mirrord.up()
    _await_meaning(mirrord, "Down/Source", "Down New", "Down New")
    eventually(lambda: mirrord.text("Down/Source.md") == "[[Down New]] [[Down New]]\n", "the link to follow")


def test_a_link_that_is_only_shown_otherwise_never_loses_its_meaning(mirrord: Mirrord) -> None:
    save(mirrord.file("Shown/Shown Target.md"), "x\n")
    save(mirrord.file("Shown/Source.md"), "[[Shown Target]]\n")
    _await_meaning(mirrord, "Shown/Source", "Shown Target")
    save(mirrord.file("Shown/Source.md"), "new [[Nobody]] [[Shown Target|otherwise]]\n")
    query = "SELECT target_id FROM page_link WHERE source_id = %s AND alias = 'otherwise'"
    page = _id(mirrord, "Shown/Source")
    first = eventually(lambda: mirrord.app.execute(query, [page]).fetchone(), "the link in its new form")
    assert first == (_id(mirrord, "Shown/Shown Target"),)


def test_a_moved_folder_takes_its_links_along(mirrord: Mirrord) -> None:
    save(mirrord.file("Old/Deep/Inner.md"), "[up](../../Moves.md) [beside](Beside.md)\n")
    save(mirrord.file("Old/Deep/Beside.md"), "x\n")
    save(mirrord.file("Moves.md"), "[[Old/Deep/Inner]] [[New/Deep/Inner]]\n")
    _await_meaning(mirrord, "Moves", "Inner", None)
    _await_meaning(mirrord, "Old/Deep/Inner", "Moves", "Beside")

    mirrord.app.execute("UPDATE page SET name = 'New' WHERE id = %s", [_id(mirrord, "Old")])
    _await_meaning(mirrord, "Moves", "Inner", "Inner")
    _await_meaning(mirrord, "New/Deep/Inner", "Moves", "Beside")

    mirrord.app.execute("UPDATE page SET parent_id = NULL WHERE id = %s", [_id(mirrord, "New/Deep")])
    _await_meaning(mirrord, "Deep/Inner", "Moves", "Beside")
    _await_meaning(mirrord, "Moves", "Inner", "Inner")
    eventually(lambda: mirrord.text("Moves.md") == "[[Deep/Inner]] [[Deep/Inner]]\n", "the links to follow")
    eventually(lambda: mirrord.text("Deep/Inner.md") == "[up](../Moves.md) [beside](Beside.md)\n", "its own link")


def test_a_page_that_gets_an_index_file_is_linked_from_there(mirrord: Mirrord) -> None:
    save(mirrord.file("Promoted/Page.md"), "[c](Child.md)\n")
    save(mirrord.file("Promoted/Page/Child.md"), "x\n")
    _await_meaning(mirrord, "Promoted/Page", None)
    mirrord.file("Promoted/Page.md").rename(mirrord.file("Promoted/Page/_index.md"))
    _await_meaning(mirrord, "Promoted/Page", "Child")


def test_what_an_app_writes_is_linked_with_it(mirrord: Mirrord) -> None:
    save(mirrord.file("App/Target.md"), "x\n")
    save(mirrord.file("App/Source.md"), "[[Target]]\n")
    _await_meaning(mirrord, "App/Source", "Target")
    page = _id(mirrord, "App/Source")

    link = {"type": "wikilink", "attrs": {"target": "Nobody", "heading": None, "alias": None}}
    document = {"type": "doc", "content": [{"type": "paragraph", "content": [link]}]}
    mirrord.app.execute("UPDATE page SET content = %s WHERE id = %s", [Jsonb(document), page])
    _await_links(mirrord, "App/Source", ("wikilink", "Nobody", None, False))
    eventually(lambda: mirrord.text("App/Source.md") == "[[Nobody]]\n", "the link in the file")

    mirrord.app.execute("UPDATE page SET markdown = '[a](Target.md)' WHERE id = %s", [page])
    _await_links(mirrord, "App/Source", ("markdown", "Target.md", "Target", False))

    mirrord.app.execute("UPDATE page SET markdown = 'none' WHERE id = %s", [page])
    _await_links(mirrord, "App/Source")


def test_links_are_no_change_of_a_page_and_unchanged_links_stay_untouched(mirrord: Mirrord) -> None:
    save(mirrord.file("Quiet/Source.md"), "[[Quiet One]] [[Quiet Two]]\n")
    _await_settled(mirrord)
    before = _feed(mirrord, "Quiet/Source")
    save(mirrord.file("Quiet/Quiet One.md"), "x\n")
    _await_meaning(mirrord, "Quiet/Source", "Quiet One", None)
    assert _feed(mirrord, "Quiet/Source") == before

    rows = _physical(mirrord, "Quiet/Source")
    save(mirrord.file("Quiet/Source.md"), "Now: [[Quiet One]] [[Quiet Three]]\n")
    _await_links(
        mirrord,
        "Quiet/Source",
        ("wikilink", "Quiet One", "Quiet One", False),
        ("wikilink", "Quiet Three", None, False),
    )
    assert _physical(mirrord, "Quiet/Source")[0] == rows[0]


def _feed(mirrord: Mirrord, path: str) -> tuple[int, int]:
    """(version, seq) of a page."""
    page = mirrord.page(path)
    assert page is not None
    row = mirrord.app.execute("SELECT seq FROM entry_feed WHERE entry_id = %s", [page.id]).fetchone()
    assert row is not None
    return page.version, row[0]


def _physical(mirrord: Mirrord, path: str) -> list[tuple[Any, ...]]:
    query = "SELECT ctid::text, xmin::text FROM page_link WHERE source_id = %s ORDER BY number"
    return mirrord.app.execute(query, [_id(mirrord, path)]).fetchall()


def test_targets_that_postgres_could_not_store_or_index_harm_nobody(mirrord: Mirrord) -> None:
    long = "x" * 5000
    save(mirrord.file("Odd/Source.md"), f"[a](b%00c.md) [[{long}]] [d](%FF.md)\n")
    _await_links(
        mirrord,
        "Odd/Source",
        ("markdown", "b\ufffdc.md", None, False),
        ("wikilink", long, None, False),
        ("markdown", "\ufffd.md", None, False),
    )


def test_a_page_without_a_document_has_no_links(mirrord: Mirrord) -> None:
    save(mirrord.file("Gone/Source.md"), "[[Gone Target]]\n")
    save(mirrord.file("Gone/Gone Target.md"), "x\n")
    _await_meaning(mirrord, "Gone/Source", "Gone Target")
    source, target = _id(mirrord, "Gone/Source"), _id(mirrord, "Gone/Gone Target")
    mirrord.file("Gone/Source.md").unlink()
    eventually(lambda: (page := page_of(mirrord.app, source)) is not None and page.deleted, "the deleted page")
    backlinks = (
        "SELECT p.name FROM page_link AS l JOIN page AS p ON p.tenant_id = l.tenant_id AND p.id = l.source_id "
        "WHERE l.target_id = %s AND p.deleted_at IS NULL"
    )
    assert mirrord.app.execute(backlinks, [target]).fetchall() == []


def test_a_page_that_becomes_a_folder_has_no_links(mirrord: Mirrord) -> None:
    save(mirrord.file("Emptied/_index.md"), "[[Down New]]\n")
    save(mirrord.file("Emptied/Child.md"), "[[Emptied]]\n")
    _await_meaning(mirrord, "Emptied/Child", "Emptied")
    eventually(lambda: len(_links(mirrord, "Emptied")) == 1, "the link of the index page")
    mirrord.file("Emptied/_index.md").unlink()
    eventually(lambda: (page := mirrord.page("Emptied")) is not None and page.kind == "folder", "the folder")
    _await_links(mirrord, "Emptied")
    _await_meaning(mirrord, "Emptied/Child", "Emptied")


def test_the_command_lists_what_is_broken_and_what_leads_to_a_page(mirrord: Mirrord) -> None:
    save(mirrord.file("Cmd/Source.md"), "[[Cmd Target#Part]] [[Cmd Nobody]] [[Cmd Twin]]\n")
    save(mirrord.file("Cmd/Cmd Target.md"), "[s](Source.md)\n")
    save(mirrord.file("Cmd/A/Cmd Twin.md"), "a\n")
    save(mirrord.file("Cmd/B/Cmd Twin.md"), "b\n")
    _await_links(
        mirrord,
        "Cmd/Source",
        ("wikilink", "Cmd Target", "Cmd Target", False),
        ("wikilink", "Cmd Nobody", None, False),
        ("wikilink", "Cmd Twin", None, True),
    )
    _await_meaning(mirrord, "Cmd/Cmd Target", "Source")
    answer = json.loads(mirrord.run("links", "Cmd/Source.md", "--json", "--tenant", "links").stdout)
    assert [(link["written"], link["to"], link["state"]) for link in answer["outgoing"]] == [
        ("Cmd Target#Part", "Cmd/Cmd Target.md", "resolved"),
        ("Cmd Nobody", None, "unresolved"),
        ("Cmd Twin", None, "ambiguous"),
    ]
    assert [(link["from"], link["written"]) for link in answer["incoming"]] == [("Cmd/Cmd Target.md", "Source.md")]

    lines = mirrord.run("links", "--unresolved", "--tenant", "links").stdout.splitlines()
    mine = [line for line in lines if "Cmd/Source.md" in line]
    assert len(mine) == 2
    assert not any("Cmd Target" in line for line in lines)
    refused = mirrord.run("links", "No such page", "--tenant", "links")
    assert (refused.returncode, "No page has the path, title or id" in refused.stderr) == (2, True)


def test_two_thousand_pages_with_ten_thousand_links_are_all_resolved(alone: Mirrord) -> None:
    pages, each = 2000, 5
    for number in range(pages):
        targets = " ".join(f"[[Page {(number * 7 + step * 311) % pages}]]" for step in range(1, each + 1))
        save(alone.file(f"Dir {number % 40}/Page {number}.md"), f"{targets}\n")
    alone.up()
    _await_settled(alone, 90.0)
    counts = alone.app.execute("SELECT count(*), count(target_id) FROM page_link").fetchone()
    assert counts == (pages * each, pages * each)
    wrong = f"SELECT count(*) FROM page_link WHERE target IS DISTINCT FROM {TARGET_NAME}"
    assert alone.app.execute(wrong.encode()).fetchone() == (0,)


@pytest.mark.skipif(not VAULT.is_dir(), reason=f"{VAULT} is not here")
def test_the_wikilinks_of_a_real_vault_mean_the_files_they_name(alone: Mirrord) -> None:
    shutil.copytree(VAULT, alone.root)
    stems = Counter(file.stem.lower() for file in alone.root.rglob("*.md"))
    alone.up()
    _await_settled(alone, 90.0)
    query = f"SELECT target, {TARGET_NAME} FROM page_link WHERE kind = 'wikilink'"
    links = alone.app.execute(query.encode()).fetchall()
    unique_links = [(target, name) for target, name in links if stems[target.lower()] == 1]
    assert len(unique_links) > 150
    assert [link for link in unique_links if link[1] is None or link[0].lower() != link[1].lower()] == []


def test_links_are_looked_up_although_edits_go_on_without_a_pause(mirrord: Mirrord) -> None:
    save(mirrord.file("Busy/Target.md"), "a page\n")
    save(mirrord.file("Busy/Source.md"), "[[Target]]\n")
    edits = count()

    def meant() -> bool:
        save(mirrord.file("Busy/Edited.md"), f"edit {next(edits)}\n")
        return [row[2] for row in _links(mirrord, "Busy/Source.md")] == ["Target"]

    eventually(meant, "Busy/Source.md to link to its target", pause=0.02)
