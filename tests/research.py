"""
`python -m tests.research`: an agent organises research, step by step, and a person decides at the command line.

Each call is shown with its result, each decision with the command that made it; at the end all events, as Postgres has
them.
"""

import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from rich.console import Console
from rich.markup import escape

from tests.support.clients import Agent, on_stdio, process
from tests.support.harness import Mirrord, eventually

PATIENCE_SECONDS = 180.0  # until something that is waited for happened; on a machine that has much else to do
LOOK_SECONDS = 0.2  # between two looks: each call of a tool takes locks that the daemon needs, too, and is counted
BUSY = ("BUSY", "RATE_LIMITED")  # answers that ask to call again
Done = Callable[[Mapping[str, Any]], bool]
LONGEST = 400  # characters of a result that are shown
INTERVIEW = """\
<h1>Interview 4</h1>
<p>Recorded in the library, 14:30.</p>
<p>Interviewer: How did you come to the garden?</p>
<p>Ana: By accident. I was looking for the bus.</p>
<p>Interviewer: And you stayed?</p>
<p>Ana: Note: nobody asked me to leave. So yes.</p>
<p>Dr. Smith: She planted the first tree, in 2019.</p>
<p>Ana: The second. But thank you.</p>
<p>Dr. Smith: The second, then.</p>
"""
NOTES = "Loose notes from the first visit; superseded by the interview.\n"
SURVEY = """\
Id;Age;Moved in;Why do you come?
R1;34;2021-05-02;"For the quiet, mostly.
And the apples."
R2;61;2015-09-30;My sister works here.
R3;27;2023-01-15;I was told there would be tea.
"""
COLUMNS = [
    {"column": "Id", "target": "identifier"},
    {"column": "Age", "target": "case_attribute", "attribute_type": "number"},
    {"column": "Moved in", "target": "case_attribute", "attribute_type": "date"},
    {"column": "Why do you come?", "target": "source_text"},
]


@dataclass(frozen=True, slots=True)
class Show:
    """What is shown to whoever watches."""

    agent: Agent
    mirrord: Mirrord
    console: Console

    def step(self, sentence: str) -> None:
        """What comes now."""
        self.console.print(f"\n[bold cyan]{escape(sentence)}[/]")

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call and its result."""
        self.console.print(f"[bold]{tool}[/] {escape(json.dumps(arguments, ensure_ascii=False))}")
        result = await self._answer(tool, arguments)
        self._result(result)
        return result

    async def _answer(self, tool: str, arguments: Mapping[str, Any], *, is_over: Done = bool) -> dict[str, Any]:
        """What a tool answers, asked again until *is_over* and as long as it asks for that."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                reply = await self.agent.reply(tool, arguments)
                answer: dict[str, Any] = reply.structured_content or {}
                if reply.is_error:
                    assert answer.get("code") in BUSY, f"{tool} failed: {answer or reply.content}"
                elif is_over(answer):
                    return answer
                await anyio.sleep(LOOK_SECONDS)

    async def approved(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call that a person approves, and the outcome that the same call gets then."""
        waiting = await self.call(tool, **arguments)
        assert waiting["status"] == "pending_approval", f"{tool} asked nobody: {waiting}"
        request = waiting["request_id"]
        approval_query = "SELECT FROM mirrord.approval WHERE id = %s"
        await self.happens(f"the request {request}", approval_query, request)
        await self.person("approvals", "show", request)
        await self.person("approvals", "approve", request)
        outcome = await self._answer(tool, arguments, is_over=lambda answer: answer.get("status") != "pending_approval")
        self._result(outcome)
        return outcome

    async def person(self, *words: str) -> None:
        """A command that a person runs, and what it prints."""
        self.console.print(f"  [magenta]$ mirrord {escape(' '.join(words))}[/]")
        run = partial(self.mirrord.run, *words, "--tenant", self.mirrord.tenant, seconds=PATIENCE_SECONDS)
        completed = await anyio.to_thread.run_sync(run)
        assert completed.returncode == 0, completed.stderr
        self._lines(completed.stdout.splitlines(), "    ")

    async def happens(self, expectation: str, query: str, *values: object, min_rows: int = 1) -> list[tuple[Any, ...]]:
        """What Postgres says, as soon as there are *min_rows* rows; the client goes on meanwhile."""

        def found() -> list[tuple[Any, ...]] | None:
            rows = self.mirrord.app.execute(query, values).fetchall()
            return rows if len(rows) >= min_rows else None

        look = partial(eventually, found, expectation, PATIENCE_SECONDS, pause=LOOK_SECONDS)
        return await anyio.to_thread.run_sync(look)

    async def rows(self, expectation: str, query: str, *values: object, min_rows: int = 1) -> None:
        """The same, shown."""
        rows = await self.happens(expectation, query, *values, min_rows=min_rows)
        self.console.print(f"  [green]{escape(expectation)}[/]")
        self._lines(["  ".join(str(value) for value in row if value is not None) for row in rows], "    ")

    def _lines(self, lines: Sequence[str], indent: str) -> None:
        for line in lines:
            self.console.print(f"{indent}{escape(line)}")

    def _result(self, result: Mapping[str, Any]) -> None:
        text = json.dumps(result, ensure_ascii=False)
        self.console.print(f"  -> {escape(text if len(text) <= LONGEST else f'{text[:LONGEST]} …')}")


async def session(show: Show, outside: Path) -> None:
    """Import, detect, organise, import a survey, delete; then what was told of it."""
    show.step("The agent imports an interview and some notes: done at once, people are notified.")
    interview = await show.call("import_file", path=str(outside / "Interview 4.html"))
    notes = await show.call("import_file", path=str(outside / "Notes.txt"))
    await show.call("list_sources")
    await show.call("get_source_text", source_id=interview["source_id"], max_length=200)

    show.step("It detects who speaks: a proposal, until a person approves it.")
    detected = await show.approved("detect_speakers", source_id=interview["source_id"])
    await show.rows(
        "segments in Postgres:",
        "SELECT label, kind, count(*) FROM mirrord.segment WHERE page_id = %s GROUP BY 1, 2 ORDER BY 3 DESC, 1",
        interview["pageId"],
        min_rows=len(detected["speakers"]),
    )

    show.step("It makes folders, and moves the interview.")
    talks = await show.approved("create_folder", name="Talks")
    garden = await show.approved("create_folder", name="Garden", parent_id=talks["folder_id"])
    await show.approved("move_source_to_folder", source_id=interview["source_id"], folder_id=garden["folder_id"])
    await show.call("list_folders")

    show.step("It imports a survey: the person sees the first rows before.")
    await show.approved("import_survey", path=str(outside / "Visitors.csv"), column_mappings=COLUMNS)
    await show.rows(
        "cases in Postgres:",
        "SELECT name, frontmatter ->> 'type', frontmatter::text FROM mirrord.page "
        "WHERE frontmatter ->> 'type' = 'case' AND deleted_at IS NULL ORDER BY name",
        min_rows=3,
    )

    show.step("It deletes the notes: only with a person's approval, and to the trash.")
    await show.approved("delete_source", source_id=notes["source_id"])
    await show.call("list_sources")

    show.step("What the agent did without asking, and every event in order.")
    await show.happens("the notices", "SELECT FROM mirrord.event WHERE data ->> 'trust' = 'NOTIFY'", min_rows=2)
    for kind, count in {"ApprovalExecuted": 6, "SourceImported": 3, "CaseCreated": 3, "SourceDeleted": 1}.items():
        await show.happens(f"{count} events {kind}", "SELECT FROM mirrord.event WHERE type = %s", kind, min_rows=count)
    await show.person("notifications")
    await show.rows(
        "events in Postgres:",
        "SELECT to_char(occurred_at, 'HH24:MI:SS.MS'), type, actor ->> 'kind', actor ->> 'name', channel, "
        "coalesce(data ->> 'path', data ->> 'name', data ->> 'command') FROM mirrord.event ORDER BY occurred_at, id",
        min_rows=10,
    )


def main() -> int:
    """The exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended then too
    console = Console(soft_wrap=True, highlight=False)
    with (
        tempfile.TemporaryDirectory(prefix="mirrord-research-", ignore_cleanup_errors=True) as directory,
        Mirrord(Path(directory) / "installation") as mirrord,
    ):
        outside = Path(directory)
        for name, text in {"Interview 4.html": INTERVIEW, "Notes.txt": NOTES, "Visitors.csv": SURVEY}.items():
            (outside / name).write_text(text, encoding="utf-8")
        mirrord.root.mkdir(parents=True)
        (mirrord.root / "Welcome.md").write_text("# Research\n", encoding="utf-8")
        console.print("Starting Postgres, the daemon, and the server for agents …")
        mirrord.start()
        mirrord.wait_ready(PATIENCE_SECONDS)
        mirrord.app.execute("SELECT 1")  # connecting is not part of what is shown
        asyncio.run(_played(mirrord, console, outside))
    return 0


async def _played(mirrord: Mirrord, console: Console, outside: Path) -> None:
    async with on_stdio(process(mirrord.mirror, None, "--tools", "sources")) as agent:
        await session(Show(agent, mirrord, console), outside)


if __name__ == "__main__":
    sys.exit(main())
