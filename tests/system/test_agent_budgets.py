"""No answer of a tool has more than 8 KB unless its caller asks for more, however large the tenant is."""

from typing import Any

import orjson
import pytest

from mirrord.domain.entry import new_id
from mirrord.mcp.admission import Tenant
from mirrord.mcp.tool_sets import ALL_SETS, SETS, tools_of
from mirrord.mirror.process_setup import prepare_process
from tests.support.clients import Agent, in_memory, tenant_in

MAX_BYTES = 8_192
COUNT = 260
FOLDER = "A folder with a rather long name"

# What these answer is the text that their arguments name, or comes from the daemon and is measured with it.
TEXTS = {"read_page", "read_pages", "get_source_text", "read_attachment"}
ASKING = {"list_changes", "page_history", "diff_page"}


def _pages() -> dict[str, str]:
    pages: dict[str, str] = {}
    links = " ".join(f"[[Page {at:03} of many with a long name]]" for at in range(COUNT))
    pages["Hub.md"] = f"# Hub\n\n{links}\n"
    for at in range(COUNT):
        head = f"---\ntags: [tag-{at}, all]\nkey-{at}: {at}\n---\n"
        text = f"# A title of page {at} that is long\n\n[[Hub]] [[Nothing at all {at}]]\n\nCommon words.\n"
        pages[f"{FOLDER}/Page {at:03} of many with a long name.md"] = head + text
        pages[f"{FOLDER}/assets/picture-{at:03}-with-a-long-name.txt"] = "a file"
        pages[f"Sources/Interviews {at:03}/Talk {at:03} with somebody.md"] = (
            f"---\nid: {new_id()}\ntype: source\n---\nSaid.\n"
        )
        described = f"description: {'x' * 300}\n"
        pages[f".records/categories/category-{at:03}.yaml"] = f"dir: {FOLDER!r}\n{described}"
        pages[f".records/collections/collection-{at:03}.yaml"] = f"categories: [category-000, gone-{at}]\n{described}"
    missing = ", ".join(f"gone-{at}" for at in range(200))
    pages[".records/collections/everything.yaml"] = f"categories: [category-000, {missing}]\n"
    return pages


@pytest.fixture(scope="module")
def tenant(tmp_path_factory: pytest.TempPathFactory) -> Tenant:
    prepare_process()
    return tenant_in(tmp_path_factory.mktemp("large") / "mirror", pages=_pages())


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("list_pages", {}),
    ("list_pages", {"path": FOLDER}),
    ("list_pages", {"depth": 3}),
    ("get_tree", {}),
    ("get_tree", {"includeMetadata": True}),
    ("search_pages", {"query": "common"}),
    ("search_pages", {"query": "common", "facets": True}),
    ("search_pages", {"query": "commen"}),
    ("find_pages", {}),
    ("find_pages", {"facets": True}),
    ("find_pages", {"links": "broken"}),
    ("get_page_links", {"path": "Hub"}),
    ("sync_status", {}),
    ("list_attachments", {}),
    ("list_folders", {}),
    ("list_sources", {}),
    ("collection_list", {"verbose": True}),
    ("category_list", {"verbose": True}),
    ("collection_content", {"name": "everything"}),
    ("list_trash", {}),
    ("changes_status", {}),
    ("review_changes", {}),
    ("edit_pages", {"edits": [{"find": "Common", "replace": "Rare"}], "dryRun": True}),
]


async def _fill_trash_and_draft(agent: Agent) -> None:
    """Deletions that the trash lists, and a change set of many pages."""
    for at in range(45):
        await agent.call("delete_page", path=f"Sources/Interviews {at:03}/Talk {at:03} with somebody.md")
    await agent.call("begin_changes", title="Many pages")
    await agent.call("edit_pages", edits=[{"find": "Common", "replace": "Rare"}])


async def test_no_answer_has_more_than_8_kb_unless_it_was_asked_for(tenant: Tenant) -> None:
    sizes = dict[str, int]()
    async with in_memory(tenant, sets=[*SETS]) as agent:
        await _fill_trash_and_draft(agent)
        for tool, arguments in QUESTIONS:
            content = await agent.call(tool, **arguments)
            sizes[f"{tool} {arguments}"] = len(orjson.dumps(content))

    assert {question: size for question, size in sizes.items() if size > MAX_BYTES} == {}
    assert max(sizes.values()) > MAX_BYTES // 2  # the tenant is large enough
    reading = {tool.name for tool in tools_of([ALL_SETS]) if not tool.writes}
    assert reading - TEXTS - ASKING - {"begin_changes", "discard_changes"} <= {tool for tool, _ in QUESTIONS}


async def test_the_answer_to_a_deletion_of_many_pages_has_no_more_than_8_kb(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        await agent.call("create_page", title="Many")
        for number in range(150):
            await agent.call("create_page", title=f"A page among many with a number, {number}", parentPath="Many")
        deleted = await agent.call("delete_page", path="Many", recursive=True)

    assert len(orjson.dumps(deleted)) <= MAX_BYTES
    assert (len(deleted["below"]), deleted["pages"]) == (50, 151)


async def test_more_links_are_shown_where_they_are_asked_for(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        few = await agent.call("get_page_links", path="Hub")
        many = await agent.call("get_page_links", path="Hub", limit=500)

    shown_count = len(few["outgoing"]) + len(few["incoming"])
    assert few["outgoing"]
    assert few["incoming"]
    assert shown_count + few["leftOut"] == len(many["outgoing"]) + len(many["incoming"]) == 2 * COUNT
