"""Many pages at once through a real client: headings that links follow, in the tree, in drafts and for approval."""

from pathlib import Path
from typing import Any

import pytest

from mirrord.commands.core.session import Gate
from mirrord.domain.trust import trust_levels
from mirrord.mcp.admission import Tenant
from tests.support.clients import in_memory, tenant_in

PAGES = {
    "Projects/Alpha.md": "# Alpha\n\n## Plan\n\nfirst\n\n## Plan\n\n### Steps\n\nsecond\n",
    "Notes.md": "# Notes\n\n[[Alpha#Steps]] and [steps](Projects/Alpha.md#steps)\n",
}
RENAMED = {
    "Projects/Alpha.md": PAGES["Projects/Alpha.md"].replace("Steps", "Timeline"),
    "Notes.md": "# Notes\n\n[[Alpha#Timeline]] and [steps](Projects/Alpha.md#timeline)\n",
}
STEPS = {"path": "Projects/Alpha", "heading": "Steps", "to": "Timeline"}


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


def memory(tenant: Tenant, **options: Any) -> Any:
    return in_memory(tenant, sets=("pages", "changes", "restructure"), **options)


def pages(tenant: Tenant) -> dict[str, str]:
    files = (file for file in tenant.root.rglob("*.md") if ".mirrord" not in file.parts)
    return {str(file.relative_to(tenant.root)): file.read_text() for file in files}


async def test_a_heading_is_renamed_with_the_links_to_it(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        renamed = await agent.call("rename_heading", **STEPS)
        assert (renamed["linksRewritten"], renamed["pages"]) == (2, ["Projects/Alpha.md", "Notes.md"])
        assert (await agent.call("read_page", path="Projects/Alpha"))["digest"] == renamed["digest"]
        twice = await agent.refused("rename_heading", path="Projects/Alpha", heading="Plan", to="Idea")
        assert (twice["code"], "lines 3, 7" in twice["error"]) == ("HEADING_AMBIGUOUS", True)
    assert pages(tenant) == RENAMED


async def test_a_heading_that_is_renamed_in_a_draft_is_renamed_when_that_is_applied(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        await agent.call("begin_changes", title="Headings")
        await agent.call("rename_heading", **STEPS)
        assert pages(tenant) == PAGES
        assert (await agent.call("apply_changes"))["edited"] == 2
    assert pages(tenant) == RENAMED


async def test_a_person_sees_all_pages_before_a_heading_is_renamed(tenant: Tenant) -> None:
    async with memory(tenant, gate=Gate(trust_levels({"rename_heading": "SUGGEST"}))) as agent:
        pending = await agent.call("rename_heading", **STEPS)
    assert pending["status"] == "pending_approval"
    assert pending["changed_pages_count"] == 2
    assert "+### Timeline" in pending["preview"]["lines"]
    assert pages(tenant) == PAGES


async def test_a_tag_is_renamed_in_all_pages_after_a_look_at_what_would_change(tenant: Tenant) -> None:
    tagged = {f"Tagged {number}.md": f"---\ntags: [draft]\n---\n#draft {number}\n" for number in range(3)}
    for path, text in tagged.items():
        (tenant.root / path).write_text(text)
    edits = [{"tag": "draft", "replace": "final"}, {"find": "first", "replace": "1st"}]
    async with memory(tenant) as agent:
        dry = await agent.call("edit_pages", edits=edits, dryRun=True)
        assert (dry["pagesCount"], dry["places"], dry["leftOut"], dry["written"]) == (4, 7, 1, False)
        assert "-#draft 0" in dry["diff"].splitlines()
        assert pages(tenant) == PAGES | tagged
        written = await agent.call("edit_pages", edits=edits, tag="draft", path="Tagged 1")
        assert written["pages"] == {"Tagged 1.md": 2}
        written = await agent.call("edit_pages", edits=edits)
        assert written["pages"] == {"Projects/Alpha.md": 1, "Tagged 0.md": 2, "Tagged 2.md": 2}
        assert "find_pages" in (await agent.call("edit_pages", edits=edits, query="tag:final"))["note"]
        (tenant.root / "Tasks.md").write_text("- [ ] ship\n")
        assert (await agent.call("edit_pages", edits=[{"task": "ship", "done": True}]))["pages"] == {"Tasks.md": 1}
        wrong = await agent.refused("edit_pages", edits=[{"find": "a"}])
        assert (wrong["code"], "{tag, replace}" in wrong["instruction"]) == ("INVALID_EDIT", True)
        unknown = await agent.refused("edit_pages", edits=edits, dry=True)
        assert "did you mean 'dryRun'" in unknown["error"]
    assert pages(tenant)["Tagged 2.md"] == "---\ntags: [final]\n---\n#final 2\n"


async def test_a_person_sees_the_edits_of_many_pages_first(tenant: Tenant) -> None:
    edits = [{"find": "first", "replace": "1st"}]
    async with memory(tenant, gate=Gate(trust_levels({"edit_pages": "SUGGEST"}))) as agent:
        assert (await agent.call("edit_pages", edits=edits, dryRun=True))["written"] is False
        pending = await agent.call("edit_pages", edits=edits)
    assert (pending["status"], pending["changed_pages_count"]) == ("pending_approval", 1)
    assert "+1st" in pending["preview"]["lines"]


async def test_pages_are_merged_and_come_back_from_the_trash(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        merged = await agent.call("merge_pages", paths=["Projects/Alpha"], into="Notes")
        assert (merged["path"], merged["linksRewritten"]) == ("Notes.md", 2)
        assert pages(tenant) == {
            "Notes.md": "---\naliases:\n  - Alpha\n---\n# Notes\n\n[[Notes#Steps]] and [steps](Notes.md#steps)\n\n"
            "## Alpha\n\n### Plan\n\nfirst\n\n### Plan\n\n#### Steps\n\nsecond\n"
        }
        await agent.call("restore_page", trashId=merged["trashIds"]["Projects/Alpha.md"])
        cycle = await agent.refused("merge_pages", paths=["Notes"], into="Notes")
        assert (cycle["code"], "paths" in cycle["instruction"]) == ("INVALID_ARGUMENTS", True)
    assert pages(tenant)["Projects/Alpha.md"] == PAGES["Projects/Alpha.md"]


async def test_sections_become_pages_and_links_follow(tenant: Tenant) -> None:
    async with memory(tenant) as agent:
        split = await agent.call("split_page", path="Projects/Alpha", level=2, parentPath="Projects/Alpha")
        assert split["path"] == "Projects/Alpha/_index.md"
        assert split["pages"] == {"Projects/Alpha/Plan.md": "Plan", "Projects/Alpha/Plan (2).md": "Plan"}
        steps = "[[Plan (2)#Steps]] and [steps](Projects/Alpha/Plan%20%282%29.md#steps)"
        assert pages(tenant)["Notes.md"] == f"# Notes\n\n{steps}\n"
        assert pages(tenant)["Projects/Alpha/_index.md"] == "# Alpha\n\n[[Plan]]\n\n[[Plan (2)|Plan]]\n"
        none = await agent.refused("split_page", path="Projects/Alpha", heading="Plan")
        assert none["code"] == "HEADING_NOT_FOUND"
