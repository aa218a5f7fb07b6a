"""An undo of categories, collections and segments, also within a scope: what is hidden stays as it is, and unnamed."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from mirrord.operations.record_limits import OUTSIDE, WHOLE_TENANT
from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

SCOPE = ("--write", "Open/**", "--read", "Read/**")
UNKNOWN = "0190f3c2-7a1b-7c3d-8e4f-0123456789ab"
SOURCE = UUID(int=1, version=4)
TALK = f"---\nid: {SOURCE}\ntype: source\n---\nAna: It was loud.\n\nBen: Why?\n\nAna: Because of the road.\n"
SEGMENT = {"start": 0, "end": 3, "label": "Ana", "kind": "code", "created_by": "human:x"}


def _category(directory: str, *patterns: str) -> str:
    return f"dir: {directory}\npatterns: {json.dumps([*patterns])}\n"


RECORDS = {
    "categories/open": _category("Open", "A*"),
    "categories/deep": _category("Open/Deep"),
    "categories/read": _category("Read", "R*"),
    "categories/shut": _category("Shut", "S*"),
    "categories/linked": "dir: Shut\ndescription: see [[Alpha]]\n",
    "collections/own": 'categories: ["open"]\n',
    "collections/mixed": 'categories: ["open", "shut"]\n',
}


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("records") / "installation", dsn=module_dsn) as running:
        for folder in ("Open/Deep", "Read", "Shut"):
            save(running.file(f"{folder}/Page.md"), "# A page\n")
        running.up()
        yield running


@pytest.fixture(autouse=True)
def records(mirrord: Mirrord) -> None:
    """All records as they were at first, in files and rows."""
    for name, text in RECORDS.items():
        if mirrord.text(_path(name)) != text:
            save(mirrord.file(_path(name)), text)
    for name in RECORDS:
        eventually(partial(_is_equal, mirrord, name), f"the row of {name}")


@pytest.fixture(scope="module")
def narrow(mirrord: Mirrord) -> str:
    """A token for a part of the tree, of an agent that has another one for all of it."""
    return mirrord.create_token("both", *SCOPE)


@pytest.fixture(scope="module")
def wide(mirrord: Mirrord) -> str:
    return mirrord.create_token("both")


def _path(name: str) -> str:
    return f".records/{name}.yaml"


def _row(mirrord: Mirrord, name: str) -> tuple[Any, ...] | None:
    """The text and the change set of the newest version of a record."""
    folder, _, key = name.partition("/")
    kind = {"categories": "category", "collections": "collection"}[folder]
    query = (
        "SELECT now.text, now.change_set FROM record_revision AS now JOIN record ON record.id = record_id "
        "AND record.version = now.version WHERE now.kind = %s AND now.key = %s AND deleted_at IS NULL AND ahead = '{}'"
    )
    return mirrord.app.execute(query, [kind, key]).fetchone()


def _is_equal(mirrord: Mirrord, name: str) -> bool:
    row = _row(mirrord, name)
    return row is not None and row[0] == mirrord.text(_path(name))


def _change_set_of(mirrord: Mirrord, name: str) -> str:
    def named() -> str | None:
        row = _row(mirrord, name)
        return str(row[1]) if row is not None and row[0] == mirrord.text(_path(name)) and row[1] else None

    return eventually(named, f"the change set of {name}")


def _agent(mirrord: Mirrord, token: str) -> AbstractAsyncContextManager[Agent]:
    tools = ("--tools", "pages,changes,sources,collections")
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, *tools))


async def _change(mirrord: Mirrord, token: str, *calls: tuple[str, dict[str, Any]]) -> str:
    """The change set of these calls in one connection, once the record that the last one names has it."""
    async with _agent(mirrord, token) as agent:
        for tool, arguments in calls:
            await agent.call(tool, **arguments)
    tool, arguments = calls[-1]
    folder = "categories" if tool.startswith("category") else "collections"
    return _change_set_of(mirrord, f"{folder}/{arguments['name']}")


def _has_first_texts(mirrord: Mirrord, *names: str) -> bool:
    return all(mirrord.text(_path(name)) == RECORDS[name] for name in names)


async def test_a_token_with_patterns_takes_back_and_redoes_its_change_of_a_category_and_a_collection(
    mirrord: Mirrord, narrow: str
) -> None:
    async with _agent(mirrord, narrow) as agent:
        await agent.call("category_update", name="open", add_patterns=["B*"])
        await agent.call("collection_update", name="own", add_categories=["deep"])
        undone = await agent.call("undo_changes")
        eventually(lambda: _has_first_texts(mirrord, "categories/open", "collections/own"), "the earlier records")
        redone = await agent.call("undo_changes", changeSet=undone["changeSet"])
        eventually(lambda: "B*" in (mirrord.text(_path("categories/open")) or ""), "the pattern again")

    assert (undone["undone"], undone["left"], redone["undone"]) == (True, [], True)
    assert sorted(undone["changes"]) == [
        "category/open: gets its earlier text",
        "collection/own: gets its earlier text",
    ]


async def test_an_undo_within_a_scope_leaves_hidden_records_and_names_none(
    mirrord: Mirrord, narrow: str, wide: str
) -> None:
    mixed_set = await _change(
        mirrord,
        wide,
        ("category_update", {"name": "open", "add_patterns": ["B*"]}),
        ("category_change", {"name": "linked", "description": "see [[Beta]]"}),
        ("collection_change", {"name": "mixed", "description": "Both."}),
        ("category_update", {"name": "shut", "add_patterns": ["T*"]}),
    )
    hidden_set = await _change(mirrord, wide, ("category_update", {"name": "shut", "add_patterns": ["U*"]}))
    async with _agent(mirrord, narrow) as agent:
        refusals = [await agent.refused("undo_changes", changeSet=name) for name in (UNKNOWN, hidden_set)]
        undone = await agent.call("undo_changes", changeSet=mixed_set)

    assert str(refusals[0]) == str(refusals[1])
    assert (undone["undone"], undone["changes"], undone["left"]) == (
        True,
        ["category/open: gets its earlier text"],
        [],
    )
    eventually(lambda: _has_first_texts(mirrord, "categories/open"), "the earlier category")
    mirrord.flush()
    assert "U*" in (mirrord.text(_path("categories/shut")) or "")
    assert "[[Beta]]" in (mirrord.text(_path("categories/linked")) or "")
    assert "Both." in (mirrord.text(_path("collections/mixed")) or "")
    assert value(mirrord.app, "SELECT undone_by IS NULL FROM change_set WHERE id = %s", mixed_set)


async def test_an_undo_within_a_scope_leaves_what_would_be_outside_or_is_only_read(
    mirrord: Mirrord, narrow: str, wide: str
) -> None:
    change_set = await _change(
        mirrord,
        wide,
        ("category_change", {"name": "shut", "dir": "Open", "patterns": []}),  # it was hidden before
        ("collection_update", {"name": "own", "remove_categories": ["open"], "add_categories": ["deep"]}),
        ("category_update", {"name": "read", "add_patterns": ["S*"]}),
    )
    async with _agent(mirrord, narrow) as agent:
        clash = await agent.call("undo_changes", changeSet=change_set)
        undone = await agent.call("undo_changes", changeSet=change_set, partial=True)

    assert (clash["undone"], undone["undone"]) == (False, True)
    remaining = [{"name": name, "reason": OUTSIDE} for name in ("category/read", "category/shut")]
    assert sorted(undone["left"], key=str) == remaining
    assert undone["changes"] == ["collection/own: gets its earlier text"]
    assert "S*" in (mirrord.text(_path("categories/read")) or "")


async def test_an_undo_within_a_scope_neither_makes_nor_removes_groups(
    mirrord: Mirrord, narrow: str, wide: str
) -> None:
    addition = await _change(mirrord, wide, ("category_add", {"name": "made", "dir": "Open"}))
    async with _agent(mirrord, wide) as agent:
        await agent.call("collection_remove", name="own")
        removed = eventually(lambda: _removal_of(mirrord, "own"), "the change set of the removal")
    async with _agent(mirrord, narrow) as agent:
        clash = await agent.call("undo_changes", changeSet=addition)
        refusals = [await agent.refused("undo_changes", changeSet=name) for name in (UNKNOWN, removed)]

    assert clash["left"] == [{"name": "category/made", "reason": WHOLE_TENANT}]
    assert str(refusals[0]) == str(refusals[1])
    assert mirrord.file(_path("categories/made")).exists()
    assert not mirrord.file(_path("collections/own")).exists()


def _removal_of(mirrord: Mirrord, key: str) -> str | None:
    query = (
        "SELECT change_set::text FROM record_revision WHERE key = %s AND deleted AND change_set IS NOT NULL "
        "ORDER BY created_at DESC LIMIT 1"
    )
    row = mirrord.app.execute(query, [key]).fetchone()
    return row[0] if row else None


@pytest.mark.parametrize("scope", [(), SCOPE], ids=["all", "scoped"])
async def test_a_page_and_its_segments_come_back_and_go_again_as_one(mirrord: Mirrord, scope: tuple[str, ...]) -> None:
    folder = "Open" if scope else "Talks"
    source = UUID(int=len(folder), version=4)
    path, segments = f"{folder}/Ana.md", f".records/segments/{source}.json"
    save(mirrord.file(path), TALK.replace(str(SOURCE), str(source)))
    save(mirrord.file(segments), json.dumps({"a": SEGMENT}))
    living = "SELECT count(*) FROM record WHERE key = %s AND deleted_at IS NULL AND ahead = '{}'"
    eventually(lambda: value(mirrord.app, living, str(source)) == 1, "the segments' row")
    eventually(lambda: mirrord.page(path), "the page's row")
    mirrord.flush()
    async with _agent(mirrord, mirrord.create_token(f"deleter of {folder}", *scope)) as agent:
        await agent.call("delete_page", path=path)
        eventually(lambda: value(mirrord.app, living, str(source)) == 0, "no segments")
        undone = await agent.call("undo_changes")
        eventually(lambda: mirrord.file(path).exists() and mirrord.file(segments).exists(), "both files")
        assert (undone["undone"], undone["left"]) == (True, [])
        redone = await agent.call("undo_changes", changeSet=undone["changeSet"])
        eventually(lambda: not mirrord.file(path).exists() and not mirrord.file(segments).exists(), "neither file")
        assert (redone["undone"], redone["left"]) == (True, [])


async def test_segments_of_a_hidden_page_stay_with_an_undo_within_a_scope(
    mirrord: Mirrord, narrow: str, wide: str
) -> None:
    hidden = UUID(int=77, version=4)
    save(mirrord.file("Shut/Eve.md"), TALK.replace(str(SOURCE), str(hidden)))
    save(mirrord.file(f".records/segments/{hidden}.json"), json.dumps({"a": SEGMENT}))
    eventually(lambda: mirrord.page("Shut/Eve.md"), "the page's row")
    mirrord.flush()
    async with _agent(mirrord, wide) as agent:
        await agent.call("delete_page", path="Shut/Eve.md")
        removed = eventually(lambda: _removal_of(mirrord, str(hidden)), "the change set of the removal")
    async with _agent(mirrord, narrow) as agent:
        refusals = [await agent.refused("undo_changes", changeSet=name) for name in (UNKNOWN, removed)]
    assert str(refusals[0]) == str(refusals[1])
    assert not mirrord.file(f".records/segments/{hidden}.json").exists()
