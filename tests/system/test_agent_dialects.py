"""Agents edit pages that other programs read too: what those read is no heading, no tag and no code to mirrord."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirrord.domain.dialect import DayFormats, Dialect
from mirrord.mcp.admission import Tenant
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.tenant_tree import Tree
from tests.support.clients import in_memory, tenant_in

MODULE = "export const text = `\n# Template\n`;\n\n# Guide\n\nbody\n"
OUTLINE = "# Journal\n\n\t- [[Other]] #draft\n"


def tenant(path: Path, dialect: Dialect, **pages: str) -> Tenant:
    return tenant_in(path / "mirror", pages={f"{name}.md": text for name, text in pages.items()}, dialect=dialect)


def memory(tenant: Tenant) -> Any:
    return in_memory(tenant, sets=("pages", "changes", "restructure"))


def text_of(tenant: Tenant, name: str) -> str:
    return (tenant.root / f"{name}.md").read_text()


async def test_a_line_of_a_module_is_no_heading(tmp_path: Path) -> None:
    astro = tenant(tmp_path, Dialect.ASTRO, Guide=MODULE)
    async with memory(astro) as agent:
        refused = await agent.refused("rename_heading", path="Guide", heading="Template", to="Other")
        await agent.call("edit_page", path="Guide", edits=[{"heading": "Guide", "action": "append", "text": "more"}])

    assert refused["code"] == "HEADING_NOT_FOUND"
    assert text_of(astro, "Guide") == f"{MODULE}\nmore\n"


async def test_an_item_is_appended_to_an_outline_below_a_heading_without_a_blank_line(tmp_path: Path) -> None:
    logseq = tenant(tmp_path, Dialect.LOGSEQ, Journal=OUTLINE)
    async with memory(logseq) as agent:
        await agent.call("edit_page", path="Journal", edits=[{"append": "\t- one more"}])

    assert text_of(logseq, "Journal") == f"{OUTLINE}\t- one more\n"


async def test_links_and_tags_of_an_outline_below_a_heading_count(tmp_path: Path) -> None:
    logseq = tenant(tmp_path, Dialect.LOGSEQ, Journal=OUTLINE, Other="- text\n")
    async with memory(logseq) as agent:
        await agent.call("read_page", path="Journal")
        await agent.call("move_page", sourcePath="Other.md", destinationPath="Renamed.md")
        await agent.call("edit_pages", path="Journal", edits=[{"tag": "draft", "replace": "final"}])

    assert text_of(logseq, "Journal") == "# Journal\n\n\t- [[Renamed]] #final\n"


async def test_a_draft_reads_pages_by_the_dialect_of_its_tenant(tmp_path: Path) -> None:
    logseq = tenant(tmp_path, Dialect.LOGSEQ, Journal=OUTLINE)
    async with memory(logseq) as agent:
        await agent.call("begin_changes", title="Outline")
        await agent.call("edit_page", path="Journal", edits=[{"append": "\t- one more"}])
        await agent.call("apply_changes")

    assert text_of(logseq, "Journal") == f"{OUTLINE}\t- one more\n"


@pytest.mark.parametrize("dialect", [Dialect.PLAIN, Dialect.OBSIDIAN])
async def test_pages_of_no_other_program_are_read_as_before(tmp_path: Path, dialect: Dialect) -> None:
    plain = tenant(tmp_path, dialect, Guide=MODULE)
    async with memory(plain) as agent:
        await agent.call("rename_heading", path="Guide", heading="Template", to="Other")

    assert text_of(plain, "Guide") == MODULE.replace("# Template", "# Other")


async def test_a_move_in_a_graph_of_logseq_writes_the_name_that_logseq_gives_the_page(tmp_path: Path) -> None:
    texts = {"Home": "- [[Tools/Editors]] [[Rocket]]\n", "Tools___Editors": "- text\n", "Called": "alias:: Rocket\n"}
    logseq = tenant(tmp_path, Dialect.LOGSEQ, **texts)
    async with memory(logseq) as agent:
        await agent.call("read_page", path="Home")
        await agent.call("move_page", sourcePath="Tools___Editors.md", destinationPath="Tools___Apps.md")
        await agent.call("move_page", sourcePath="Called.md", destinationPath="Named.md")

    assert text_of(logseq, "Home") == "- [[Tools/Apps]] [[Rocket]]\n"


async def test_an_agent_that_moves_a_day_of_logseq_writes_its_name_in_the_format_of_the_graph(tmp_path: Path) -> None:
    texts = {"Home": "- [[05-01-2023]]\n", "20230105": "- text\n"}
    logseq = tenant(tmp_path, Dialect.LOGSEQ, **texts)
    tree = Tree(logseq.root)
    marker = tree_marker.read(tree)
    assert marker is not None
    tree_marker.write(tree, replace(marker, days=DayFormats("dd-MM-yyyy", "yyyyMMdd")))
    tree.close()
    async with memory(logseq) as agent:
        await agent.call("read_page", path="Home")
        await agent.call("move_page", sourcePath="20230105.md", destinationPath="20230109.md")

    assert text_of(logseq, "Home") == "- [[09-01-2023]]\n"


async def test_tags_of_logseq_follow_the_page_that_an_agent_moves(tmp_path: Path) -> None:
    logseq = tenant(tmp_path, Dialect.LOGSEQ, Home="- #draft `#draft` #drafts\n", draft="- text\n")
    async with memory(logseq) as agent:
        await agent.call("read_page", path="Home")
        await agent.call("move_page", sourcePath="draft.md", destinationPath="final.md")

    assert text_of(logseq, "Home") == "- #final `#draft` #drafts\n"


async def test_a_move_in_a_vault_of_obsidian_keeps_a_markdown_link_as_short_as_it_was(tmp_path: Path) -> None:
    texts = {"Home": "[only](Only.md#part) [[Only]]\n", "Deep/Only": "text\n"}
    obsidian = tenant(tmp_path, Dialect.OBSIDIAN, **texts)
    async with memory(obsidian) as agent:
        await agent.call("read_page", path="Home")
        await agent.call("move_page", sourcePath="Deep/Only.md", destinationPath="Deep/Down/Only.md")
        await agent.call("move_page", sourcePath="Deep/Down/Only.md", destinationPath="Deep/Sole.md")

    assert text_of(obsidian, "Home") == "[only](Sole.md#part) [[Sole]]\n"
