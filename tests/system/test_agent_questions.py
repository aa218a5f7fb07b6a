"""Questions of agents through a real client: filters, ranking, facets, links, and answers that stay small."""

import json
from pathlib import Path
from typing import Any

import pytest

from mirrord.mcp.admission import Tenant
from tests.support.clients import in_memory, on_stdio, process, tenant_in

PAGES = {
    "Projects/Alpha.md": "---\nstatus: draft\ntags: [work]\ndue: 2026-05-01\n---\n\n# Alpha\n\nSee [[Beta]].\n",
    "Projects/Beta.md": "---\nstatus: done\ntags: [work/old]\ndue: soon\n---\n\n# Beta\n\nSee [[Gamma]], [[Alpha]].\n",
    "Notes.md": "---\nstatus: [draft, idea]\ndue: 7\ncreated: 2020-02-02\nupdated: 2021-03-03\n---\n\nOf alpha.\n",
}
ANSWER_BYTES = 4_096


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    return tenant_in(tmp_path / "mirror", pages=PAGES)


def paths(answer: dict[str, Any]) -> list[str]:
    return [page["path"] for page in answer["pages" if "pages" in answer else "results"]]


async def test_pages_are_found_by_front_matter_tag_and_time(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        drafts = await agent.call("find_pages", where={"status": "draft"})
        text = await agent.call("find_pages", where='{"status": "draft"}')
        due = await agent.call("find_pages", where={"due": {"lt": "2026-06-01"}})
        tagged = await agent.call("find_pages", tag="work", path="Projects")
        recent = await agent.call("find_pages", modifiedAfter="yesterday")
        early = await agent.call("find_pages", modifiedBefore="2022-01-01")
        searched = await agent.call("search_pages", query="alpha", where={"status": "draft"})

    assert paths(drafts) == paths(text) == ["Notes.md", "Projects/Alpha.md"]
    assert paths(due) == ["Projects/Alpha.md"]
    assert paths(tagged) == ["Projects/Alpha.md", "Projects/Beta.md"]
    assert set(paths(recent)) == {"Projects/Alpha.md", "Projects/Beta.md"}
    assert early["pages"] == [{"path": "Notes.md", "title": "Notes", "modified": "2021-03-03", "created": "2020-02-02"}]
    assert paths(searched) == ["Projects/Alpha.md", "Notes.md"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"where": {"due": {"before": "2026"}}}, "INVALID_WHERE", "has no 'before'; there are equals"),
        ({"where": 7}, "INVALID_ARGUMENTS", "must be an object"),
        ({"modifiedAfter": "2999-01-01"}, "INVALID_TIME", "is in the future"),
        ({"modifiedBefore": "tomorrow"}, "INVALID_TIME", "is no time"),
        ({"limit": 0}, "INVALID_LIMIT", "from 1 to 100"),
        ({"links": "lost"}, "INVALID_ARGUMENTS", "'orphan', 'broken' or 'ambiguous'"),
        ({"cursor": "abc"}, "INVALID_CURSOR", "does not belong"),
        ({"path": "../other"}, "FORBIDDEN", "another tenant"),
    ],
)
async def test_a_question_that_is_none_is_explained(
    tenant: Tenant, arguments: dict[str, Any], code: str, words: str
) -> None:
    async with in_memory(tenant) as agent:
        refused = await agent.refused("find_pages", **arguments)

    assert refused["code"] == code
    assert words in refused["error"]


async def test_links_that_mean_nothing_and_pages_without_links_are_found(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        broken = await agent.call("find_pages", links="broken")
        orphans = await agent.call("find_pages", links="orphan")
        ambiguous = await agent.call("find_pages", links="ambiguous")

    assert [(page["path"], page["targets"]) for page in broken["pages"]] == [("Projects/Beta.md", ["Gamma"])]
    assert paths(orphans) == ["Notes.md"]
    assert ambiguous == {"pages": [], "total": 0}


async def test_a_draft_is_asked_too(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=["pages", "changes"]) as agent, in_memory(tenant) as other:
        await agent.call("begin_changes", title="more")
        await agent.call("write_page", path="Gamma.md", content="---\nstatus: draft\n---\n\n# Gamma\n")

        assert "Gamma.md" in paths(await agent.call("find_pages", where={"status": "draft"}))
        assert paths(await agent.call("find_pages", links="broken")) == []
        assert "Gamma.md" not in paths(await other.call("find_pages", where={"status": "draft"}))


async def test_a_misspelt_word_is_taken_for_a_near_one_and_said_so(tenant: Tenant) -> None:
    async with in_memory(tenant) as agent:
        answer = await agent.call("search_pages", query="alhpa")

    assert paths(answer) == ["Projects/Alpha.md", "Notes.md", "Projects/Beta.md"]
    assert answer["note"] == 'No page has "alhpa": these have "Alpha".'


async def test_answers_stay_below_4_kb_and_go_on_with_the_cursor(tmp_path: Path) -> None:
    line = 'a word, \\ and "quoted" text: ' * 12
    pages = {
        f"Folder {number % 7}/Page {number:03} with a long name ü.md": (
            f"---\ntags: [tag{number % 30}]\nstatus: s{number % 3}\n---\n\n{line}\n[[nowhere {number}]]\n"
        )
        for number in range(150)
    }
    tenant_in(tmp_path / "mirror", pages=pages)
    questions: list[tuple[str, dict[str, Any]]] = [
        ("search_pages", {"query": "word"}),
        ("search_pages", {"query": "w.rd", "regex": True}),
        ("search_pages", {"query": "word", "facets": True}),
        ("find_pages", {}),
        ("find_pages", {"facets": True}),
        ("find_pages", {"links": "broken"}),
    ]
    async with on_stdio(process(tmp_path / "mirror")) as agent:
        for name, arguments in questions:
            answer = await agent.call(name, **arguments)
            found_paths = paths(answer)
            assert ("facets" in answer) is ("facets" in arguments)
            while True:
                assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()) <= ANSWER_BYTES
                if "nextCursor" not in answer:
                    break
                answer = await agent.call(name, **arguments, cursor=answer["nextCursor"])
                found_paths += paths(answer)
            assert sorted(found_paths) == sorted(pages)
