"""Clients that ask for it are told how far a long call is: reading many pages, looking at links, applying changes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mirrord.mcp.admission import Tenant
from mirrord.mirror.write import change_plan
from tests.support.clients import Agent, in_memory, tenant_in

LEGACY, MODERN = "legacy", "2026-07-28"
PAGES = {f"Notes/{number}.md": f"# Note {number}\n\n[[{number + 1}]] [[nowhere]]\n" for number in range(300)}


@pytest.fixture(scope="module")
def tenant(tmp_path_factory: pytest.TempPathFactory) -> Tenant:
    return tenant_in(tmp_path_factory.mktemp("progress") / "mirror", pages=PAGES)


async def progress_of(agent: Agent, tool: str, arguments: Mapping[str, Any]) -> list[tuple[float, float | None]]:
    """What the client of a call is told: progress and total."""
    notices: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert message is None
        notices.append((progress, total))

    result = await agent.client.call_tool(tool, dict(arguments), progress_callback=note)
    assert not result.is_error, result.structured_content
    return notices


def assert_rising(notices: list[tuple[float, float | None]], last: float = 100) -> None:
    shares = [progress for progress, _ in notices]
    assert shares == sorted(set(shares))
    assert {total for _, total in notices} == {100}
    assert shares[-1] == last


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_the_first_search_reads_every_page_and_the_next_has_nothing_to_report(tenant: Tenant, mode: str) -> None:
    async with in_memory(tenant, mode=mode) as agent:
        assert_rising(await progress_of(agent, "search_pages", {"query": "Note 7"}))
        assert await progress_of(agent, "search_pages", {"query": "Note 8"}) == []


async def test_links_are_looked_at_page_by_page(tenant: Tenant) -> None:
    async with in_memory(tenant, mode=MODERN) as agent:
        await agent.call("search_pages", query="Note")
        notices = await progress_of(agent, "find_pages", {"links": "ambiguous"})
    assert_rising(notices)


async def test_a_change_set_is_compared_and_then_staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_plan, "_MAX_OPEN_FILES", 4)
    tenant = tenant_in(tmp_path / "mirror")
    async with in_memory(tenant, mode=MODERN, sets=["pages", "changes"]) as agent:
        await agent.call("begin_changes", title="Many")
        for number in range(12):
            await agent.call("write_page", path=f"{number}.md", content=f"# {number}\n")
        notices = await progress_of(agent, "apply_changes", {})
        assert_rising(notices)
        assert await progress_of(agent, "changes_status", {}) == []
    assert len(list(tenant.root.glob("*.md"))) == 12
