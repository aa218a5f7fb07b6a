"""
Sources, folders, categories and collections within a scope: what it hides changes no answer, as for pages.

Each attempt is made in two trees that differ in what the scope hides only.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest

from mirrord.commands.core.session import Gate
from mirrord.domain.entry import EntryId
from mirrord.domain.scope import parse_scope
from mirrord.domain.trust import DEFAULTS, Limits, Trust, trust_levels
from mirrord.domain.write_rules import parse_write_rules
from mirrord.mcp.admission import Tenant
from mirrord.mcp.tool_sets import tools_of
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import request_files
from mirrord.research.sources.source_kinds import number_of
from tests.support.clients import Agent, in_memory
from tests.support.scoped_worlds import ScopedWorlds, make_worlds, normalize_answer

CANARY = "canary"
TALK = "Interviewer: How was it?\n\nAna: It was loud.\n\nInterviewer: Why was that?\n\nAna: Because of the road.\n"
SETS = ("pages", "changes", "sources", "collections")
SCOPE = parse_scope(["Sources/Field", "Cases/Field", "Inbox"], ["Sources/Open"], ["Sources/Field/Secret"])


def _entry(number: int) -> EntryId:
    return EntryId(UUID(int=number, version=4))


FIELD, WAVE, OPEN, ANA, BEN, CARA = map(_entry, range(6))
CLOSED, SECRET, DAN, EVE, MADE_UP = map(_entry, range(10, 15))
HIDDEN_SOURCES, HIDDEN_FOLDERS = (DAN, EVE), (CLOSED, SECRET)


def _page(entry: EntryId, text: str, kind: str = "source", **keys: str) -> str:
    head = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return f"---\nid: {entry}\ntype: {kind}\n{head}---\n{text}"


def _segments(entry: EntryId, count: int) -> tuple[str, str]:
    segments = {
        str(_entry(1000 * count + at)): {
            "start": at,
            "end": at + 1,
            "label": "Ana",
            "kind": "code",
            "created_by": "human:x",
        }
        for at in range(count)
    }
    return f".records/segments/{entry}.json", json.dumps(segments)


def _category(directory: str, *patterns: str) -> str:
    return f"dir: {directory!r}\npatterns: {[*patterns]}\ncreated: '2026-01-01T00:00:00+00:00'\n"


def _collection(*categories: str) -> str:
    return f"categories: {[*categories]}\ncreated: '2026-01-01T00:00:00+00:00'\n"


RECORDS = {
    ".records/categories/wave.yaml": _category("Sources/Field/Wave", "B*"),
    ".records/categories/open.yaml": _category("Sources/Open"),
    ".records/categories/inbox.yaml": _category("Inbox"),
    ".records/collections/talks.yaml": _collection("wave", "open"),
    ".records/collections/own.yaml": _collection("wave"),
}
HIDDEN_RECORDS = {
    ".records/categories/closed.yaml": _category("Sources/Closed", f"{CANARY}*"),
    ".records/categories/field.yaml": _category("Sources/Field", f"Secret/{CANARY}"),  # a part of it is denied
    ".records/categories/all.yaml": _category("", f"**/{CANARY}"),
    ".records/categories/broken.yaml": f"dir: [{CANARY}",
    ".records/collections/mixed.yaml": _collection("wave", "closed"),
    ".records/collections/canary.yaml": _collection("closed"),
    ".records/collections/empty.yaml": f"description: {CANARY}\ncategories: []\n",
    ".records/collections/missing.yaml": _collection("wave", "gone"),
    ".records/collections/unread.yaml": _collection("wave", "broken"),
}
PAGES = {
    "Inbox/Todo.md": "# Todo\n\n[[Ana]]\n",
    "Sources/Field/_index.md": _page(FIELD, "", "folder", title="Field"),
    "Sources/Field/Ana.md": _page(ANA, TALK, original="./assets/ana.txt"),
    "Sources/Field/assets/ana.txt": "Ana: Hi.",
    "Sources/Field/Wave/_index.md": _page(WAVE, "", "folder", title="Wave"),
    "Sources/Field/Wave/Ben.md": _page(BEN, TALK),
    "Sources/Open/_index.md": _page(OPEN, "", "folder", title="Open"),
    "Sources/Open/Cara.md": _page(CARA, TALK),
    **dict([_segments(ANA, 1), _segments(CARA, 2)]),
    **RECORDS,
    # hidden from here on
    "Sources/Closed/_index.md": _page(CLOSED, CANARY, "folder", title="Closed"),
    "Sources/Closed/Dan.md": _page(DAN, f"{TALK}\n{CANARY} [[Ana]]\n"),
    "Sources/Field/Secret/_index.md": _page(SECRET, CANARY, "folder", title="Secret"),
    "Sources/Field/Secret/Eve.md": _page(EVE, f"{CANARY}: Hi.\n", sha256="0" * 64),
    "Archive/Old.md": f"{CANARY} [[Ben]] [[Ana]]\n",
    "Cases/Other/Ann.md": f"{CANARY}\n",
    **dict([_segments(DAN, 3), _segments(EVE, 4)]),
    **HIDDEN_RECORDS,
}
HIDDEN_SEGMENTS = [f".records/segments/{entry}.json" for entry in HIDDEN_SOURCES]
KNOWN_NUMBERS = {number_of(_entry(number)) for number in range(15)}
OUTSIDE = ("Eve.txt", "Ana.txt", "Eve.csv", "Dan.csv")


def _attempts_at_source(source: EntryId) -> list[tuple[str, dict[str, Any]]]:
    by_number, by_id = {"source_id": number_of(source)}, {"source_id": str(source)}
    return [
        ("get_source_text", by_number),
        ("get_source_text", by_id),
        ("rename_source", {**by_number, "new_name": "Mine"}),
        ("rename_source", {**by_id, "new_name": "Ana"}),
        ("move_source_to_folder", {**by_number, "folder_id": number_of(FIELD)}),
        ("detect_speakers", by_number),
        ("delete_source", by_id),
    ]


def _attempts_at_folder(folder: EntryId) -> list[tuple[str, dict[str, Any]]]:
    by_number, by_id = {"folder_id": number_of(folder)}, {"folder_id": str(folder)}
    return [
        ("list_sources", by_number),
        ("create_folder", {"name": "Below", "parent_id": number_of(folder)}),
        ("rename_folder", {**by_number, "new_name": "Mine"}),
        ("rename_folder", {**by_id, "new_name": "Wave"}),
        ("delete_folder", by_number),
        ("move_source_to_folder", {"source_id": number_of(BEN), **by_number}),
        ("import_file", {"path": "Eve.txt", **by_number}),
    ]


def _attempts_at_group(kind: str, name: str) -> list[tuple[str, dict[str, Any]]]:
    members = "categories" if kind == "collection" else "patterns"
    return [
        (f"{kind}_add", {"name": name}),
        (f"{kind}_remove", {"name": name}),
        (f"{kind}_change", {"name": name, "description": "mine"}),
        (f"{kind}_change", {"name": name, members: []}),
        (f"{kind}_change", {"name": "own" if kind == "collection" else "wave", "new_name": name}),
        (f"{kind}_update", {"name": name, f"add_{members}": ["wave"]}),
        ("collection_content", {"name": name}),
        ("collection_update", {"name": "own", "add_categories": [name]}),
        ("collection_change", {"name": "own", "categories": [name]}),
    ]


WIDE_ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("list_folders", {}),
    ("list_sources", {}),
    ("list_sources", {"type": "text"}),
    ("list_sources", {"folder_id": 0}),
    ("collection_list", {"verbose": True}),
    ("category_list", {"verbose": True}),
    ("collection_content", {"name": "talks"}),
    ("collection_content", {"name": "tolks"}),
    ("create_folder", {"name": "Closed"}),
    ("create_folder", {"name": "Free"}),
    ("create_folder", {"name": "Secret", "parent_id": number_of(FIELD)}),
    ("create_folder", {"name": "secret", "parent_id": number_of(FIELD)}),
    ("import_file", {"path": "Eve.txt", "folder_id": number_of(OPEN)}),
    ("import_file", {"path": "Eve.txt"}),
    ("import_file", {"path": "Eve.txt", "name": "Secret", "folder_id": number_of(FIELD)}),
    ("import_survey", {"path": "Dan.csv"}),
    ("rename_source", {"source_id": number_of(CARA), "new_name": "Mine"}),
    ("move_source_to_folder", {"source_id": number_of(CARA), "folder_id": number_of(FIELD)}),
    ("move_source_to_folder", {"source_id": number_of(BEN), "folder_id": number_of(OPEN)}),
    ("move_source_to_folder", {"source_id": number_of(BEN), "folder_id": 0}),
    ("detect_speakers", {"source_id": number_of(CARA)}),
    ("delete_source", {"source_id": number_of(CARA)}),
    ("rename_folder", {"folder_id": number_of(FIELD), "new_name": "Mine"}),  # the secret folder would move along
    ("delete_folder", {"folder_id": number_of(FIELD)}),
    ("delete_folder", {"folder_id": number_of(OPEN)}),
    ("category_change", {"name": "open", "description": "mine"}),
    ("category_change", {"name": "wave", "dir": "Sources/Closed"}),
    ("category_change", {"name": "wave", "dir": "Sources/None"}),
    ("category_change", {"name": "wave", "dir": "Sources/Field/Secret"}),
    ("category_change", {"name": "wave", "dir": "Sources/Field"}),
    ("category_change", {"name": "wave", "dir": ""}),
    ("category_update", {"name": "open", "add_patterns": ["x*"]}),
    ("collection_change", {"name": "talks", "description": "mine"}),  # of a category that it only reads
    ("collection_update", {"name": "own", "add_categories": ["open"]}),
    ("collection_update", {"name": "own", "remove_categories": ["wave"]}),
    ("list_trash", {}),
    ("read_page", {"path": ".records/categories/closed.yaml"}),
    ("search_pages", {"query": CANARY}),
    # what it may do
    ("category_update", {"name": "wave", "add_patterns": ["A*"]}),
    ("category_change", {"name": "inbox", "dir": "Inbox/Later", "description": "for later"}),
    ("collection_update", {"name": "own", "add_categories": ["inbox"]}),
    ("collection_change", {"name": "own", "description": "mine"}),
    ("detect_speakers", {"source_id": number_of(BEN)}),
    ("rename_source", {"source_id": number_of(BEN), "new_name": "Benno"}),
    ("create_folder", {"name": "Next", "parent_id": number_of(WAVE)}),
    ("import_file", {"path": "Ana.txt", "folder_id": number_of(WAVE)}),
    ("rename_folder", {"folder_id": number_of(WAVE), "new_name": "Waves"}),
    ("move_source_to_folder", {"source_id": number_of(ANA), "folder_id": number_of(WAVE)}),
    ("delete_source", {"source_id": number_of(ANA)}),
    ("list_sources", {}),
    ("list_folders", {}),
    ("collection_content", {"name": "own"}),
    ("list_trash", {}),
]
ATTEMPTS = [
    *(attempt for source in (*HIDDEN_SOURCES, MADE_UP) for attempt in _attempts_at_source(source)),
    *(attempt for folder in (*HIDDEN_FOLDERS, MADE_UP) for attempt in _attempts_at_folder(folder)),
    *(attempt for name in ("closed", "field", "broken", "free") for attempt in _attempts_at_group("category", name)),
    *(attempt for name in ("mixed", "empty", "canary", "free") for attempt in _attempts_at_group("collection", name)),
    *WIDE_ATTEMPTS,
]


@pytest.fixture
def worlds(tmp_path: Path) -> ScopedWorlds:
    prepare_process()
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in OUTSIDE:
        text = "Id;Why?\nP1;Because it is so.\nP2;Who knows.\n" if name.endswith(".csv") else f"{name}: Hi.\n"
        (outside / name).write_text(text, encoding="utf-8")
    return make_worlds(tmp_path, PAGES, SCOPE, (*HIDDEN_RECORDS, *HIDDEN_SEGMENTS))


def _free_gate() -> Gate:
    """Nobody has to be asked."""
    levels = {**DEFAULTS, **{tool.name: Trust.AUTONOMOUS for tool in tools_of(SETS)}}
    return Gate(levels, Limits(pending=0, calls=0, mutations=0))


def _agent_in(tenant: Tenant, gate: Gate) -> AbstractAsyncContextManager[Agent]:
    return in_memory(tenant, sets=SETS, paths=SCOPE, gate=gate)


def _without_new_numbers(answer: Any) -> Any:
    """*answer* without the numbers of ids that were made by chance."""
    if isinstance(answer, dict):
        return {key: _without_new_numbers(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_without_new_numbers(value) for value in answer]
    is_new = isinstance(answer, int) and answer > 1 << 32 and answer not in KNOWN_NUMBERS
    return "…" if is_new else answer


async def _play(tenant: Tenant, gate: Gate, attempts: Sequence[tuple[str, dict[str, Any]]], answers: list[Any]) -> None:
    outside = tenant.root.parent.parent / "outside"
    async with _agent_in(tenant, gate) as agent:
        for tool, arguments in attempts:
            is_import = tool.startswith("import_")
            sent = {**arguments, "path": str(outside / arguments["path"])} if is_import else arguments
            reply = await agent.reply(tool, sent)
            assert "INTERNAL_ERROR" not in str(reply.structured_content), (tool, arguments)
            answer = _without_new_numbers(normalize_answer(reply.structured_content))
            answers.append((tool, arguments, reply.is_error, answer))


async def _play_in_both(
    worlds: ScopedWorlds, gate: Gate, attempts: Sequence[tuple[str, dict[str, Any]]]
) -> list[tuple[str, dict[str, Any], bool, Any]]:
    answers: list[Any] = []
    expected: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_play, worlds.full, gate, attempts, answers)
        tasks.start_soon(_play, worlds.bare, gate, attempts, expected)
    for answer, twin in zip(answers, expected, strict=True):
        assert answer == twin
        assert CANARY in str(answer[1]) or CANARY not in str(answer[3])
    return answers


async def test_the_answers_about_research_are_the_same_without_what_the_scope_hides(worlds: ScopedWorlds) -> None:
    answers = await _play_in_both(worlds, _free_gate(), ATTEMPTS)

    assert len(answers) > 150
    root = worlds.full.root
    texts = dict(worlds.hidden_texts())
    assert texts.pop("Archive/Old.md") == f"{CANARY} [[Benno]] [[Ana]]\n"  # the link follows there, and nobody is told
    assert texts == {path: PAGES[path] for path in worlds.hidden - {"Archive/Old.md"}}
    assert (root / "Sources/Field/Waves/Benno.md").exists()
    assert (root / "Sources/Open/Cara.md").read_text(encoding="utf-8") == PAGES["Sources/Open/Cara.md"]
    assert json.loads((root / f".records/segments/{CARA}.json").read_bytes()) == json.loads(_segments(CARA, 2)[1])
    assert not (root / f".records/segments/{ANA}.json").exists()  # in the trash with its source
    successes = [tool for tool, _, is_error, _ in answers[-len(WIDE_ATTEMPTS) :] if not is_error]
    assert successes[-15:] == [tool for tool, _ in WIDE_ATTEMPTS[-15:]]


async def test_lists_about_research_have_what_the_scope_shows(worlds: ScopedWorlds) -> None:
    async with _agent_in(worlds.full, _free_gate()) as agent:
        sources = (await agent.call("list_sources"))["sources"]
        folders = (await agent.call("list_folders"))["folders"]
        categories = (await agent.call("category_list"))["value"]
        collections = (await agent.call("collection_list"))["value"]
        content = (await agent.call("collection_content", name="talks"))["value"]

    assert {source["path"]: source["segments_count"] for source in sources} == {
        "Sources/Field/Ana.md": 1,
        "Sources/Field/Wave/Ben.md": 0,
        "Sources/Open/Cara.md": 2,
    }
    assert {folder["name"] for folder in folders} == {"Field", "Wave", "Open"}
    assert {category["name"] for category in categories} == {"wave", "open", "inbox"}
    assert {collection["name"] for collection in collections} == {"talks", "own"}
    assert {page["path"] for page in content["pages"]} >= {"Sources/Field/Wave/Ben.md", "Sources/Open/Cara.md"}


async def test_what_a_person_decides_about_research_is_asked_for_within_the_scope_only(worlds: ScopedWorlds) -> None:
    names = {tool.name for tool in tools_of(SETS) if tool.run is None and tool.name != "apply_changes"}
    gate = Gate(trust_levels(dict.fromkeys(names, "REQUIRE")), Limits(pending=0, calls=0, mutations=0))
    answers = await _play_in_both(worlds, gate, ATTEMPTS)

    waiting = {tool for tool, _, _, content in answers if content.get("status") == "pending_approval"}
    assert {"rename_source", "delete_source", "import_file", "category_update", "create_folder"} <= waiting
    requests = [request for request, _ in request_files.read_all(Tree(worlds.full.root))]
    paths = {path for request in requests for path in request.bases}
    visible_records = {path for path in PAGES.keys() - worlds.hidden if path.startswith(".")}
    assert {path for path in paths if path.startswith(".")} <= {*visible_records, f".records/segments/{BEN}.json"}
    assert all(SCOPE.can_write(path) for path in paths if not path.startswith("."))
    assert worlds.hidden_texts() == {path: PAGES[path] for path in worlds.hidden}


DRAFT_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("begin_changes", {"title": "Mine"}),
    ("rename_source", {"source_id": number_of(BEN), "new_name": "Benno"}),
    ("category_update", {"name": "wave", "add_patterns": ["A*"]}),
    ("category_change", {"name": "closed", "description": "mine"}),
    ("collection_content", {"name": "own"}),
    ("review_changes", {}),
    ("review_changes", {"path": ".records/categories/closed.yaml"}),
    ("detect_speakers", {"source_id": number_of(ANA)}),  # in the order of ids that are made by chance
    ("list_sources", {}),
    ("apply_changes", {"message": "Done"}),
    ("changes_status", {}),
    ("category_list", {}),
]


async def test_a_change_set_about_research_shows_and_applies_the_same_whatever_is_hidden(worlds: ScopedWorlds) -> None:
    answers = await _play_in_both(worlds, _free_gate(), DRAFT_CALLS)

    assert [tool for tool, _, is_error, _ in answers if is_error] == ["category_change", "review_changes"]
    assert "A*" in (worlds.full.root / ".records/categories/wave.yaml").read_text(encoding="utf-8")
    assert "[[Benno]]" in worlds.hidden_texts()["Archive/Old.md"]


async def test_a_renamed_source_waits_for_review_whether_or_not_a_hidden_page_links_to_it(worlds: ScopedWorlds) -> None:
    rules = parse_write_rules({"write": "act", "folders": {"Archive/**": "review"}})
    gate = _free_gate()
    gate.rules = rules
    calls: list[tuple[str, dict[str, Any]]] = [
        ("rename_source", {"source_id": number_of(BEN), "new_name": "Benno"}),
        ("discard_changes", {}),
        ("rename_folder", {"folder_id": number_of(WAVE), "new_name": "Waves"}),
        ("discard_changes", {}),
    ]
    answers = await _play_in_both(worlds, gate, calls)

    assert ["review" in content for *_, content in answers] == [True, False, True, False]


async def test_the_trash_of_hidden_sources_and_categories_is_not_listed(worlds: ScopedWorlds) -> None:
    async with in_memory(worlds.full, sets=SETS, gate=_free_gate()) as agent:
        deleted = await agent.call("delete_source", source_id=number_of(DAN))
        await agent.call("collection_remove", name="canary")
        await agent.call("category_remove", name="closed")
        everything = (await agent.call("list_trash"))["trash"]
    async with _agent_in(worlds.full, _free_gate()) as agent:
        listed = (await agent.call("list_trash"))["trash"]
        for trash_id in (deleted["trash_id"], *(trashed["trashId"] for trashed in everything)):
            assert (await agent.refused("restore_page", trashId=trash_id))["code"] == "NOT_IN_TRASH"

    assert len(everything) == 3
    assert listed == []


async def test_folders_that_hold_something_hidden_are_neither_renamed_nor_deleted(tmp_path: Path) -> None:
    prepare_process()
    scope = parse_scope(["Sources"], [], ["Sources/Field/Secret", "Sources/Talks/Dan"])
    pages = {path: PAGES[path] for path in ("Sources/Field/_index.md", "Sources/Field/Ana.md")}
    pages |= {"Sources/Field/Secret/Eve.md": _page(EVE, CANARY), "Sources/Talks/_index.md": _page(WAVE, "", "folder")}
    pages |= {"Sources/Talks/Dan.md": _page(DAN, CANARY)}
    worlds = make_worlds(tmp_path, pages, scope)
    refusals = []
    for tenant in (worlds.full, worlds.bare):
        async with in_memory(tenant, sets=SETS, paths=scope, gate=_free_gate()) as agent:
            for tool, folder in (("rename_folder", FIELD), ("delete_folder", WAVE), ("delete_folder", FIELD)):
                name = {"new_name": "Mine"} if tool == "rename_folder" else {}
                refusals.append((await agent.refused(tool, folder_id=number_of(folder), **name))["code"])

    assert refusals == ["OUT_OF_SCOPE"] * 6
    assert worlds.hidden_texts() == {path: pages[path] for path in worlds.hidden}


async def test_a_source_comes_back_with_its_segments_within_a_scope(worlds: ScopedWorlds) -> None:
    root = worlds.full.root
    async with _agent_in(worlds.full, _free_gate()) as agent:
        deleted = await agent.call("delete_source", source_id=number_of(ANA))
        assert not (root / f".records/segments/{ANA}.json").exists()
        await agent.call("restore_page", trashId=deleted["trash_id"])
        sources = (await agent.call("list_sources"))["sources"]

    assert {source["name"]: source["segments_count"] for source in sources}["Ana"] == 1
    assert (root / "Sources/Field/assets/ana.txt").exists()


async def test_surveys_are_imported_where_all_of_their_folders_may_be_written(worlds: ScopedWorlds) -> None:
    outside = worlds.full.root.parent.parent / "outside"
    scope = parse_scope(["Sources", "Cases"], [], ["Sources/Field/Secret", "Cases/Dan"])
    mappings = [{"column": "Id", "target": "identifier"}, {"column": "Why?", "target": "source_text"}]
    async with in_memory(worlds.full, sets=SETS, paths=scope, gate=_free_gate()) as agent:
        refused = await agent.refused("import_survey", path=str(outside / "Dan.csv"), column_mappings=mappings)
        imported = await agent.call("import_survey", path=str(outside / "Eve.csv"), column_mappings=mappings)

    assert refused["code"] == "OUT_OF_SCOPE"  # its cases would be in Cases/Dan
    assert (imported["path"], imported["cases_path"]) == ("Sources/Eve", "Cases/Eve")
    assert not (worlds.full.root / "Sources/Dan").exists()
