"""What the tools for change sets refuse: each refusal has its code, is short, says what to do, and changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Implementation

from tests.support.clients import Agent, in_memory, tenant_in
from tests.support.trees import tree as files_of

SETS = ("pages", "changes")
MAX_REFUSAL_BYTES = 1_000
LONG = "x" * 100_000

Arguments = dict[str, Any]
Attempt = tuple[str, Arguments, str]

UNKNOWN_IDS = (
    "",
    "zz",
    "../../etc",
    "%",
    "\0",
    LONG,
    "{foreign}",
    "{elsewhere}",
    "01234567-89ab-7def-8123-456789abcdef",
)
BEFORE_A_DRAFT: list[Attempt] = [
    *((tool, {}, "NO_CHANGES") for tool in ("review_changes", "discard_changes")),
    ("apply_changes", {}, "CHANGES_ENDED"),  # the one that this connection discarded
    ("review_changes", {"path": "A.md"}, "NO_CHANGES"),
    *(("begin_changes", {"changeSet": unknown}, "CHANGES_NOT_FOUND") for unknown in UNKNOWN_IDS),
    *(("discard_changes", {"changeSet": unknown}, "CHANGES_NOT_FOUND") for unknown in UNKNOWN_IDS),
    *(("apply_changes", {"changeSet": unknown}, "CHANGES_NOT_FOUND") for unknown in UNKNOWN_IDS if unknown),
    *(
        (tool, {"changeSet": f"{{{state}}}"}, "CHANGES_ENDED")
        for tool in ("begin_changes", "apply_changes", "discard_changes")
        for state in ("applied", "discarded")
    ),
    *(
        ("begin_changes", {"title": title}, "INVALID_TITLE")
        for title in (None, "", "  ", "\n", "x" * 201, LONG, "a\0b", "\x1b[31mred", "two\nlines")
    ),
    ("begin_changes", {"title": 5}, "INVALID_ARGUMENTS"),
    ("begin_changes", {"name": "A title"}, "INVALID_ARGUMENTS"),
    ("undo_changes", {"changeSet": "zz"}, "DAEMON_DOWN"),
    ("undo_changes", {"changeSet": "{elsewhere}"}, "DAEMON_DOWN"),
    ("undo_changes", {"partial": "perhaps"}, "INVALID_ARGUMENTS"),
    ("changes_status", {"changeSet": "{applied}"}, "INVALID_ARGUMENTS"),
]
IN_A_DRAFT: list[Attempt] = [
    ("begin_changes", {"title": "A second one"}, "CHANGES_OPEN"),
    ("begin_changes", {"changeSet": "{open}"}, "CHANGES_OPEN"),
    *(
        ("review_changes", {"path": path}, "NOT_CHANGED")
        for path in ("", "A.md", "Absent.md", "../other/A.md", "/etc/passwd", ".mirrord/x", "a\0", LONG)
    ),
    *(("review_changes", {"cursor": cursor}, "INVALID_CURSOR") for cursor in ("", "zz", LONG)),
    *(
        ("write_page", {"path": path, "content": "x"}, "FORBIDDEN")
        for path in ("../other/A.md", ".mirrord/drafts/x.md", "/etc/passwd")
    ),
    *(("apply_changes", {"message": message}, "INVALID_MESSAGE") for message in (LONG, "a\0b", "\x1b[2J")),
    ("apply_changes", {"message": ["Done"]}, "INVALID_ARGUMENTS"),
    ("undo_changes", {}, "DRAFT_OPEN"),
    ("undo_changes", {"partial": True}, "DRAFT_OPEN"),
]


async def ended(agent: Agent, title: str, tool: str) -> str:
    """A change set of one new page that *tool* ended."""
    change_set = str((await agent.call("begin_changes", title=title))["changeSet"])
    await agent.call("write_page", path=f"{title}.md", content="text\n")
    await agent.call(tool)
    return change_set


async def play(agent: Agent, attempts: list[Attempt], ids: dict[str, str]) -> list[str]:
    """The attempts that were not refused as they should be, with the answers."""
    odd_answers = []
    for tool, arguments, code in attempts:
        named = {
            key: ids.get(text.strip("{}"), text) if isinstance(text, str) else text for key, text in arguments.items()
        }
        answer = await agent.refused(tool, **named)
        is_short = len(json.dumps(answer)) < MAX_REFUSAL_BYTES
        if answer["code"] != code or not is_short or not answer["instruction"].endswith("."):
            odd_answers.append(f"{tool} {str(arguments)[:100]} instead of {code}: {str(answer)[:300]}")
    return odd_answers


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_cannot_be_is_refused_in_a_few_words_with_the_call_that_helps(tmp_path: Path) -> None:
    tenant = tenant_in(tmp_path / "mirror", pages={"A.md": "# A\n"})
    other = tenant_in(tmp_path / "mirror", name="other", pages={"A.md": "# A\n"})
    async with (
        in_memory(tenant, sets=SETS, token="one") as agent,
        in_memory(tenant, sets=SETS, token="two") as stranger,
        in_memory(other, sets=SETS, token="one") as neighbour,
    ):
        ids = {
            "applied": await ended(agent, "Applied", "apply_changes"),
            "discarded": await ended(agent, "Discarded", "discard_changes"),
            "foreign": str((await stranger.call("begin_changes", title="Theirs"))["changeSet"]),
            "elsewhere": str((await neighbour.call("begin_changes", title="Elsewhere"))["changeSet"]),
        }
        before = files_of(tenant.root)
        assert await play(agent, BEFORE_A_DRAFT, ids) == []
        ids["open"] = str((await agent.call("begin_changes", title="Open"))["changeSet"])
        await agent.call("write_page", path="New.md", content="text\n")
        assert await play(agent, IN_A_DRAFT, ids) == []
        assert files_of(tenant.root) == before
        assert (await agent.call("apply_changes", message="Done:\n- a page"))["pages"] == 1


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_name_of_a_program_is_noted_without_its_control_characters(tmp_path: Path) -> None:
    tenant = tenant_in(tmp_path / "mirror", pages={"A.md": "# A\n"})
    program = Implementation(name="odd\0\x1b[31m\nprogram" + "x" * 500, version="1")
    async with in_memory(tenant, sets=SETS, client_info=program) as agent:
        await agent.call("write_page", path="New.md", content="text\n")
    (file,) = (tenant.root / ".records/events").glob("*.jsonl")
    client = json.loads(file.read_text(encoding="utf-8").splitlines()[0])["data"]["client"]
    assert client.startswith("odd [31m program")
    assert client.isprintable()
    assert len(client) == 80
