"""Lists of changes of a token with patterns: groups and segments that it may read, and no word about hidden ones."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tests.support.clients import Agent, on_stdio, process
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

SCOPE = ("--write", "Open/**", "--read", "Read/**")
TALK = "---\nid: {}\ntype: source\n---\nAna: It was loud.\n\nBen: Why?\n"
SEGMENT = {"start": 0, "end": 3, "label": "Ana", "kind": "code", "created_by": "human:x"}
FOLDERS = {"category": "categories", "collection": "collections"}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, module_dsn: str) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("records") / "installation", dsn=module_dsn) as running:
        for folder in ("Open", "Read", "Shut"):
            save(running.file(f"{folder}/Page.md"), "# A page\n")
        running.up()
        yield running


@pytest.fixture
def mirrord(installation: Mirrord) -> Iterator[Mirrord]:
    """Without records and sources of earlier tests."""
    yield installation
    for path in (*installation.file(".records").rglob("*.yaml"), *installation.file("").rglob("Talk *.md")):
        path.unlink()
    eventually(partial(_count_of_living, installation, 0), "no records")


def _count_of_living(mirrord: Mirrord, count: int) -> bool:
    return bool(value(mirrord.app, "SELECT count(*) FROM record WHERE deleted_at IS NULL") == count)


def _category(directory: str, *patterns: str) -> str:
    return f"dir: {directory}\npatterns: {json.dumps([*patterns])}\n"


def _members(*names: str) -> str:
    return f"categories: {json.dumps([*names])}\n"


def _write(mirrord: Mirrord, **texts: str) -> None:
    """Write records, `kind_key` by name, and wait for their rows."""
    for name, text in texts.items():
        kind, _, key = name.partition("_")
        save(mirrord.file(f".records/{FOLDERS[kind]}/{key}.yaml"), text)
    for name, text in texts.items():
        eventually(partial(_has_text, mirrord, name, text), f"the row of {name}")


def _has_text(mirrord: Mirrord, name: str, text: str) -> bool:
    query = "SELECT text = %s FROM record WHERE kind = %s AND key = %s AND deleted_at IS NULL AND ahead = '{}'"
    return bool(value(mirrord.app, query, text, *name.split("_")))


def _remove(mirrord: Mirrord, kind: str, key: str) -> None:
    mirrord.file(f".records/{FOLDERS[kind]}/{key}.yaml").unlink()
    query = "SELECT deleted_at IS NOT NULL FROM record WHERE kind = %s AND key = %s"
    eventually(lambda: value(mirrord.app, query, kind, key), f"no {key}")


def _save_talk(mirrord: Mirrord, path: str, number: int, *segments: str) -> None:
    """A source with segments of these names, and their rows."""
    page = UUID(int=number, version=4)
    if not mirrord.file(path).exists():
        save(mirrord.file(path), TALK.format(page))
        eventually(partial(mirrord.page, path), f"the row of {path}")
    save(mirrord.file(f".records/segments/{page}.json"), json.dumps(dict.fromkeys(segments, SEGMENT)))
    query = "SELECT data ? %s FROM record WHERE kind = 'segment' AND key = %s AND ahead = '{}'"
    eventually(lambda: value(mirrord.app, query, segments[-1], str(page)), f"the segments of {path}")
    mirrord.flush()


def _segments_of(number: int) -> str:
    return f"segment/{UUID(int=number, version=4)}"


def _now(mirrord: Mirrord) -> str:
    moment: datetime = value(mirrord.app, "SELECT clock_timestamp()")
    return moment.isoformat()


def _agent(mirrord: Mirrord, token: str) -> AbstractAsyncContextManager[Agent]:
    return on_stdio(process(mirrord.mirror, {"MIRRORD_TOKEN": token}, "--tools", "pages,changes,collections"))


async def _listed(mirrord: Mirrord, since: str, *scope: str, **filters: str) -> dict[str, dict[str, Any]]:
    """The changes of records since a moment, by path, as a token with *scope* lists them."""
    async with _agent(mirrord, mirrord.create_token("reader", *scope)) as agent:
        answer = await agent.call("list_changes", since=since, **filters)
    assert "nextCursor" not in answer
    return {change["path"]: change for change in answer["changes"] if change.get("type") == "record"}


async def test_records_of_what_a_token_may_read_are_listed_and_others_are_not_named(mirrord: Mirrord) -> None:
    first = {"category_open": "Open", "category_read": "Read", "category_shut": "Shut", "category_gone": "Open"}
    _write(mirrord, **{name: _category(directory) for name, directory in first.items()})
    _write(mirrord, collection_own=_members("open"), collection_mixed=_members("open", "shut"))
    _write(mirrord, collection_empty="categories: []\n")
    start = _now(mirrord)
    _write(mirrord, category_open=_category("Open", "A*"), category_read=_category("Read", "R*"))
    _write(mirrord, category_shut=_category("Shut", "S*"), category_fresh=_category("Open/Deep"))
    _write(mirrord, collection_own=_members("open", "read"), collection_mixed=_members("shut", "open"))
    _write(mirrord, collection_empty="categories: []\ndescription: still none\n")
    _remove(mirrord, "category", "gone")
    everything, listed = await _listed(mirrord, start), await _listed(mirrord, start, *SCOPE)

    assert {path: change["kind"] for path, change in listed.items()} == {
        "category/open": "edited",
        "category/read": "edited",
        "category/fresh": "created",
        "collection/own": "edited",
    }
    assert len(everything) == 8
    assert all(everything[path] == change for path, change in listed.items())


async def test_a_group_that_leaves_a_scope_is_not_named_and_one_that_comes_was_made_then(mirrord: Mirrord) -> None:
    _write(mirrord, category_goes=_category("Open", "G*"), category_comes=_category("Shut", *map(str, range(9))))
    _write(mirrord, collection_ofgoes=_members("goes"), collection_ofcomes=_members("comes"))
    start = _now(mirrord)
    _write(mirrord, category_goes=_category("Shut", "G*"), category_comes=_category("Open"))
    _write(mirrord, collection_ofgoes=_members("goes", "goes"), collection_ofcomes=_members("comes") + "# more\n")
    listed = await _listed(mirrord, start, *SCOPE)

    assert set(listed) == {"category/comes", "collection/ofcomes"}
    assert {change["kind"] for change in listed.values()} == {"created"}
    assert not any(change["removed"] or "from" in change for change in listed.values())


async def test_a_name_that_was_used_before_is_not_told_of(mirrord: Mirrord) -> None:
    _write(mirrord, category_again=_category("Shut"))
    _remove(mirrord, "category", "again")
    start = _now(mirrord)
    _write(mirrord, category_again=_category("Open"))
    listed = await _listed(mirrord, start, *SCOPE)
    assert [change["kind"] for change in listed.values()] == ["created"]


async def test_what_was_as_it_is_now_tells_nothing_of_a_hidden_time_between(mirrord: Mirrord) -> None:
    _write(mirrord, category_back=_category("Open"), collection_back=_members("back"))
    start = _now(mirrord)
    _write(mirrord, category_back=_category("Shut"), collection_back=_members())
    _write(mirrord, category_back=_category("Open"), collection_back=_members("back"))
    assert await _listed(mirrord, start, *SCOPE) == {}


async def test_segments_are_listed_where_their_page_was_shown_all_the_time(mirrord: Mirrord) -> None:
    _save_talk(mirrord, "Open/Talk stays.md", 1, "a")
    _save_talk(mirrord, "Shut/Talk hidden.md", 2, "a")
    _save_talk(mirrord, "Shut/Talk comes.md", 3, "a")
    _save_talk(mirrord, "Open/Talk goes.md", 4, "a")
    _save_talk(mirrord, "Shut/Below/Talk folder.md", 5, "a")
    start = _now(mirrord)
    for path, number in (
        ("Open/Talk stays.md", 1),
        ("Shut/Talk hidden.md", 2),
        ("Shut/Talk comes.md", 3),
        ("Open/Talk goes.md", 4),
        ("Shut/Below/Talk folder.md", 5),
    ):
        _save_talk(mirrord, path, number, "a", "b")
    for source, target in (("Shut/Talk comes.md", "Open/Talk comes.md"), ("Open/Talk goes.md", "Shut/Talk goes.md")):
        mirrord.file(source).rename(mirrord.file(target))
        eventually(partial(mirrord.page, target), f"the row of {target}")
    mirrord.file("Shut/Below").rename(mirrord.file("Open/Below"))
    eventually(partial(mirrord.page, "Open/Below/Talk folder.md"), "the row below the folder")
    mirrord.flush()
    listed = await _listed(mirrord, start, *SCOPE)

    assert {path: change["kind"] for path, change in listed.items()} == {
        _segments_of(1): "edited",
        _segments_of(3): "created",
        _segments_of(5): "created",
    }
    assert not any(listed[_segments_of(number)]["removed"] for number in (3, 5))


async def test_a_filter_by_author_shows_no_record_of_a_hidden_time(mirrord: Mirrord) -> None:
    _save_talk(mirrord, "Shut/Talk author.md", 6, "a")
    _write(mirrord, category_author=_category("Shut", "1", "2"))
    start = _now(mirrord)
    _save_talk(mirrord, "Shut/Talk author.md", 6, "b")
    _write(mirrord, category_author=_category("Shut", "1"))
    moved = "UPDATE page SET parent_id = (SELECT id FROM page WHERE name = 'Open' AND parent_id IS NULL) WHERE id = %s"
    mirrord.app.execute(moved, [UUID(int=6, version=4)])
    mirrord.app.execute("UPDATE record SET data = data || '{\"dir\": \"Open\"}' WHERE key = 'author'")
    eventually(lambda: mirrord.file("Open/Talk author.md").exists(), "the moved file")
    eventually(lambda: "dir: Open" in (mirrord.text(".records/categories/author.yaml") or ""), "the category's file")
    mirrord.flush()
    listed = await _listed(mirrord, start, *SCOPE, by="file")

    assert set(listed) <= {_segments_of(6)}
    assert all(change["kind"] == "created" and not change["removed"] for change in listed.values())
