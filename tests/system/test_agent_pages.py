"""The ten tools as their requirements ask for them, case by case, and the workflow they give as an example."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mirrord.domain.entry import digest_of
from mirrord.mcp.admission import Tenant
from tests.support.clients import in_memory, on_stdio, process, tenant_in

ALPHA = (
    "---\ntitle: Alpha\ntags: [work]\n---\n\n# Alpha\n\nProject details.\n\n"
    "See the architecture diagram below, and [[Welcome]].\n"
)
PAGES = {
    "Welcome.md": "---\ntitle: Welcome\nicon: 👋\n---\n\nStart with [[Alpha]].\n",
    "Projects/_index.md": "---\ntitle: Projects\n---\n\n# Projects\n",
    "Projects/Alpha.md": ALPHA,
    "Projects/Deep/Below.md": "# Below\n",
}
PICTURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


async def test_list_pages_returns_correct_directory_listing(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        pages = (await agent.call("list_pages"))["pages"]

    assert [(page["path"], page["title"], page["icon"], page["hasChildren"]) for page in pages] == [
        ("Projects/_index.md", "Projects", None, True),
        ("Welcome.md", "Welcome", "👋", False),
    ]
    assert all(UUID(page["pageId"]) for page in pages)


async def test_list_pages_with_depth_parameter_limits_nesting(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        paths_by_depth = [
            [page["path"] for page in (await agent.call("list_pages", depth=n))["pages"]] for n in (1, 2, 3)
        ]

    assert paths_by_depth[0] == ["Projects/_index.md", "Welcome.md"]
    assert paths_by_depth[1] == ["Projects/_index.md", "Projects/Alpha.md", "Projects/Deep", "Welcome.md"]
    assert paths_by_depth[2] == [
        *("Projects/_index.md", "Projects/Alpha.md", "Projects/Deep", "Projects/Deep/Below.md", "Welcome.md")
    ]


async def test_list_pages_of_a_folder_includes_content_where_asked(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        pages = (await agent.call("list_pages", path="Projects", includeContent=True))["pages"]
    assert ALPHA in [page.get("content") for page in pages]


async def test_read_page_returns_content_and_frontmatter(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        page = await agent.call("read_page", path="Projects/Alpha")

    assert page["content"] == ALPHA
    assert page["frontmatter"] == {"title": "Alpha", "tags": ["work"]}
    assert page["path"] == "Projects/Alpha.md"
    assert page["digest"] == digest_of(ALPHA.encode()).hex()
    assert page["totalChars"] == len(ALPHA)


async def test_read_page_for_non_existent_path_returns_error(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        refused = await agent.refused("read_page", path="Projects/Nonexistent.md")
        refusal = await agent.refused("read_page", path="Projects/Alhpa.md")

    assert refused["error"] == "Page not found at path: Projects/Nonexistent.md"
    assert (refused["code"], refused["error_type"]) == ("PAGE_NOT_FOUND", "not_found")
    assert "Projects/Alpha.md" in refusal["instruction"]


async def test_write_page_updates_existing_file(tenant: Tenant) -> None:
    new = ALPHA + "\n## Timeline\n"
    async with in_memory(tenant) as agent:
        page = await agent.call("read_page", path="Projects/Alpha.md")
        written = await agent.call("write_page", path="Projects/Alpha.md", content=new)

    assert (written["success"], written["path"], written["created"]) == (True, "Projects/Alpha.md", False)
    assert written["pageId"] == page["pageId"]
    assert (tenant.root / "Projects" / "Alpha.md").read_bytes() == new.encode()


async def test_write_page_creates_new_file(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        written = await agent.call("write_page", path="Projects/Gamma", content="# Gamma\n")

    assert (written["success"], written["path"], written["created"]) == (True, "Projects/Gamma.md", True)
    text = (tenant.root / "Projects" / "Gamma.md").read_text(encoding="utf-8")
    assert f"id: {written['pageId']}" in text
    assert text.endswith("# Gamma\n")


async def test_a_log_is_made_once_and_appended_to(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        log = await agent.call("create_page", title="Log", unlessExists=True, content="- one\n")
        again = await agent.call("create_page", title="Log", unlessExists=True, content="- another\n")
        assert (again["path"], again["pageId"], again["created"]) == (log["path"], log["pageId"], False)
        await agent.call("edit_page", path="Log.md", edits=[{"append": "- two"}])
        assert (await agent.call("read_page", path="Log.md"))["content"].endswith("\n- one\n- two\n")


async def test_create_page_generates_correct_path_and_frontmatter(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        created = await agent.call("create_page", title="Beta", parentPath="Projects", content="# Beta\n", icon="🌱")
        page = await agent.call("read_page", path=created["path"])

    assert created["path"] == "Projects/Beta.md"
    assert page["frontmatter"] == {"id": created["pageId"], "title": "Beta", "icon": "🌱"}
    assert page["pageId"] == created["pageId"]
    assert page["content"].endswith("# Beta\n")


async def test_delete_page_removes_file(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        page = await agent.call("read_page", path="Projects/Alpha.md")
        deleted = await agent.call("delete_page", path="Projects/Alpha.md")
        assert not (tenant.root / "Projects" / "Alpha.md").exists()
        back = await agent.call("restore_page", trashId=deleted["trashId"])

    assert (deleted["deleted"], deleted["pageId"]) == (True, page["pageId"])
    assert (back["path"], back["digest"]) == ("Projects/Alpha.md", page["digest"])
    assert (tenant.root / "Projects" / "Alpha.md").read_bytes() == ALPHA.encode()


async def test_a_page_with_children_is_deleted_only_recursively(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        refused = await agent.refused("delete_page", path="Projects")
        await agent.call("delete_page", path="Projects", recursive=True)

    assert refused["code"] == "HAS_CHILDREN"
    assert [path.name for path in tenant.root.glob("*") if not path.name.startswith(".")] == ["Welcome.md"]


async def test_the_trash_lists_a_deletion_once_and_one_call_brings_all_of_it_back(tenant: Tenant) -> None:
    before = {path: path.read_bytes() for path in (tenant.root / "Projects").rglob("*.md")}
    async with in_memory(tenant, sets=("pages", "changes")) as agent:
        deleted = await agent.call("delete_page", path="Projects", recursive=True)
        (listed,) = (await agent.call("list_trash"))["trash"]
        back = await agent.call("restore_page", trashId=listed["trashId"])
        empty = (await agent.call("list_trash"))["trash"]

    assert (listed["trashId"], listed["pages"]) == (deleted["trashId"], len(before))
    assert (back["pages"], set(back["below"])) == (len(before), set(deleted["below"]))
    assert {path: path.read_bytes() for path in (tenant.root / "Projects").rglob("*.md")} == before
    assert empty == []


async def test_move_page_takes_links_along_and_demotes_nothing_else(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        moved = await agent.call("move_page", sourcePath="Projects/Alpha.md", destinationPath="Archive/Omega.md")
        links = await agent.call("get_page_links", path="Archive/Omega.md")

    assert (moved["success"], moved["newPath"], moved["linksRewritten"]) == (True, "Archive/Omega.md", 1)
    assert "linksLeft" not in moved
    assert (tenant.root / "Welcome.md").read_text(encoding="utf-8").endswith("Start with [[Omega]].\n")
    assert [link["path"] for link in links["incoming"]] == ["Welcome.md"]


async def test_search_pages_finds_matching_content(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        answer = await agent.call("search_pages", query="architecture diagram")

    (hit,) = answer["results"]
    assert (hit["path"], hit["title"]) == ("Projects/Alpha.md", "Alpha")
    assert ALPHA.splitlines()[hit["matchLine"] - 1] == "See the architecture diagram below, and [[Welcome]]."
    assert "architecture diagram" in hit["matchContext"]
    assert answer["truncated"] is False


async def test_get_page_links_returns_outgoing_and_incoming_links(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        links = await agent.call("get_page_links", path="Projects/Alpha.md")

    assert links["outgoing"] == [{"title": "Welcome", "path": "Welcome.md"}]
    assert links["incoming"] == [{"title": "Welcome", "path": "Welcome.md"}]


async def test_add_attachment_copies_file_to_assets_folder(tenant: Tenant, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "image.png").write_bytes(PICTURE)
    async with in_memory(tenant) as agent:
        arguments = {"pagePath": "Projects/Alpha.md", "filePath": str(tmp_path / "outside" / "image.png")}
        first, second = await agent.call("add_attachment", **arguments), await agent.call("add_attachment", **arguments)
        refused = await agent.refused("add_attachment", pagePath="Welcome.md", filePath="/etc/passwd")

    assert first["relativePath"] == "./assets/image.png"
    assert first["markdownSyntax"] == "![](./assets/image.png)"
    assert (tenant.root / "Projects" / "assets" / "image.png").read_bytes() == PICTURE
    assert second["relativePath"] in ("./assets/image.png", "./assets/image-2.png")
    assert refused["error_type"] == "not_found"


async def test_get_tree_returns_nested_hierarchy(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        tree = await agent.call("get_tree")

    projects, welcome = tree["children"]
    assert (projects["path"], projects["title"]) == ("Projects/_index.md", "Projects")
    assert [child["path"] for child in projects["children"]] == ["Projects/Alpha.md", "Projects/Deep"]
    assert [child["path"] for child in projects["children"][1]["children"]] == ["Projects/Deep/Below.md"]
    assert (welcome["path"], welcome["children"]) == ("Welcome.md", [])


async def test_several_pages_are_read_at_once_each_or_why_not(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        pages = (await agent.call("read_pages", paths=["Welcome", "Nowhere", "Projects/Alpha.md"]))["pages"]

    assert [page["path"] for page in pages] == ["Welcome.md", "Nowhere", "Projects/Alpha.md"]
    assert pages[1]["error"] == "Page not found at path: Nowhere"
    assert pages[2]["content"] == ALPHA


async def test_edits_are_made_all_or_none(tenant: Tenant) -> None:
    edits = [{"find": "details", "replace": "facts"}, {"frontMatter": {"set": {"status": "done"}, "remove": ["tags"]}}]
    async with in_memory(tenant) as agent:
        await agent.call("read_page", path="Projects/Alpha.md")
        refused = await agent.refused(
            "edit_page", path="Projects/Alpha.md", edits=[*edits, {"find": "no", "replace": "x"}]
        )
        tried = await agent.call("edit_page", path="Projects/Alpha.md", edits=edits, dryRun=True)
        assert (tenant.root / "Projects" / "Alpha.md").read_bytes() == ALPHA.encode()
        edited = await agent.call("edit_page", path="Projects/Alpha.md", edits=edits)
        page = await agent.call("read_page", path="Projects/Alpha.md")

    assert refused["error_type"] in ("invalid", "not_found", "conflict")
    assert "-Project details.\n+Project facts." in tried["diff"]
    assert (tried["written"], edited["written"], tried["diff"]) == (False, True, edited["diff"])
    assert page["frontmatter"] == {"title": "Alpha", "status": "done"}


async def test_a_page_that_somebody_changed_meanwhile_is_not_overwritten(tenant: Tenant) -> None:
    file = tenant.root / "Projects" / "Alpha.md"
    async with in_memory(tenant) as agent:
        await agent.call("read_page", path="Projects/Alpha.md")
        file.write_text("# Somebody else's\n", encoding="utf-8")
        refused = await agent.refused("write_page", path="Projects/Alpha.md", content="# Mine\n")

        assert refused["error"] == "Page was modified externally, please retry"
        assert (refused["code"], refused["error_type"]) == ("CONFLICT", "conflict")
        assert "digest" not in refused
        assert file.read_text(encoding="utf-8") == "# Somebody else's\n"
        digest = digest_of(file.read_bytes()).hex()
        unread = await agent.refused("write_page", path="Projects/Alpha.md", content="# Mine\n", expectedDigest=digest)
        assert (unread["code"], "digest" in unread) == ("READ_FIRST", False)
        page = await agent.call("read_page", path="Projects/Alpha.md")
        await agent.call("write_page", path="Projects/Alpha.md", content="# Mine\n", expectedDigest=page["digest"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_page", {"path": "Projects/Alpha.md/x.md", "content": "x"}),
        ("write_page", {"path": "Projects/Alpha.md/", "content": "x"}),
        ("read_page", {"path": "Projects/Alpha.md/x.md"}),
        ("edit_page", {"path": "Projects/Alpha.md/x.md", "edits": [{"find": "a", "replace": "b"}]}),
        ("create_page", {"title": "X", "parentPath": "Projects/Alpha.md.md"}),
        ("create_page", {"title": "X", "parentPath": "Projects/Alpha.md/x"}),
        ("move_page", {"sourcePath": "Projects/Alpha.md", "destinationPath": "Welcome.md/"}),
        ("move_page", {"sourcePath": "Projects/Alpha.md", "destinationPath": "Welcome.md/Alpha.md"}),
        ("delete_page", {"path": "Projects/Alpha.md/x.md"}),
        ("list_pages", {"path": "Welcome.md/x"}),
        ("get_page_links", {"path": "Welcome.md/x.md"}),
        ("search_pages", {"query": "x", "path": "Welcome.md/x"}),
        ("add_attachment", {"pagePath": "Welcome.md/x.md", "filePath": "/nowhere.png"}),
    ],
)
async def test_a_path_through_a_page_is_a_mistake_and_no_error_of_mirrord(
    tenant: Tenant, tool: str, arguments: dict[str, Any]
) -> None:
    async with in_memory(tenant) as agent:
        names = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert set(arguments) <= set(names[tool].input_schema["properties"])
        result = await agent.client.call_tool(tool, arguments)
    answer = result.structured_content or {}
    assert answer.get("code") != "INTERNAL_ERROR"
    assert not result.is_error or answer["instruction"]


async def test_a_deleted_page_does_not_come_back_below_another_page(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        deleted = await agent.call("delete_page", path="Projects/Alpha.md")
        refused = await agent.refused("restore_page", trashId=deleted["trashId"], path="Welcome.md/x")
    assert refused["code"] != "INTERNAL_ERROR"


async def test_a_page_that_was_never_read_is_not_overwritten(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        refused = await agent.refused("write_page", path="Projects/Alpha.md", content="# Mine\n")
    assert refused["code"] == "READ_FIRST"


async def test_a_long_page_is_read_in_parts(tenant: Tenant) -> None:
    text = "# Long\n" + "".join(f"Line {number}\n" for number in range(20_000))
    (tenant.root / "Long.md").write_text(text, encoding="utf-8")
    parts: list[str] = []
    offset: int | None = 0
    async with in_memory(tenant) as agent:
        while offset is not None:
            page = await agent.call("read_page", path="Long.md", offset=offset)
            parts.append(page["content"])
            offset = page.get("nextOffset")

    assert len(parts) > 1
    assert "".join(parts) == text


async def test_the_status_says_that_no_daemon_runs(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        status = await agent.call("sync_status", path="Welcome.md", wait=0)
    assert (status["daemon"], status["synced"]) == (False, False)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_workflow_example(tenant: Tenant, mode: str) -> None:
    updated = ALPHA + "\nUpdated content with new section.\n\n## Timeline\n"
    async with on_stdio(process(tenant.root.parent), mode=mode) as agent:
        listed = (await agent.call("list_pages", depth=2))["pages"]
        page = await agent.call("read_page", path="Projects/Alpha.md")
        written = await agent.call("write_page", path="Projects/Alpha.md", content=updated)
        created = await agent.call(
            "create_page", title="Beta", parentPath="Projects", content="# Beta\n\nNew project.\n"
        )
        hits = (await agent.call("search_pages", query="architecture diagram"))["results"]

    assert {(page["path"], page["title"], page["hasChildren"]) for page in listed} >= {
        ("Projects/_index.md", "Projects", True),
        ("Projects/Alpha.md", "Alpha", False),
        ("Welcome.md", "Welcome", False),
    }
    assert page["content"] == ALPHA
    assert (written["success"], written["path"]) == (True, "Projects/Alpha.md")
    assert created["path"] == "Projects/Beta.md"
    assert [hit["path"] for hit in hits] == ["Projects/Alpha.md"]


async def test_a_folder_without_a_page_is_taken_by_the_tools_for_pages(tenant: Tenant) -> None:
    async with on_stdio(process(tenant.root.parent)) as agent:
        page = await agent.call("read_page", path="Projects/Deep")
        assert (page["content"], page["title"], page["hasChildren"]) == ("", "Deep", True)
        assert "write_page" in page["note"]
        assert (await agent.call("read_pages", paths=["Projects/Deep"]))["pages"][0]["title"] == "Deep"
        assert "write_page" in (await agent.refused("edit_page", path="Projects/Deep", edits=EDITS))["instruction"]
        moved = await agent.call("move_page", sourcePath="Projects/Deep", destinationPath="Depths")
        assert (moved["newPath"], (tenant.root / "Depths/Below.md").exists()) == ("Depths", True)
        assert (await agent.refused("delete_page", path="Depths"))["code"] == "HAS_CHILDREN"
        deleted = await agent.call("delete_page", path="Depths", recursive=True)
        assert not (tenant.root / "Depths").exists()
        await agent.call("restore_page", trashId=deleted["below"]["Depths/Below.md"])
        assert (await agent.call("restore_page", trashId=deleted["trashId"]))["path"] == "Depths"
        written = await agent.call("write_page", path="Depths", content="# Depths\n")
        assert (written["path"], written["created"]) == ("Depths/_index.md", True)


EDITS = [{"find": "a", "replace": "b"}]
