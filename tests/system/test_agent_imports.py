"""Agents and people import files and surveys: what becomes of them is in Postgres, with who did it."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from mirrord.commands.core.session import Gate
from tests.support.clients import Agent, in_memory, tenant_in
from tests.support.commands import commands
from tests.support.editors import save
from tests.support.guests import ACTOR, Host
from tests.support.harness import eventually
from tests.support.people import granted, pending

SURVEY = "Id;Age;Why?\nP1;34;Because it is near.\nP2;;\n"
MAPPINGS = [
    {"column": "Id", "target": "identifier"},
    {"column": "Age", "target": "case_attribute", "attribute_type": "number"},
    {"column": "Why?", "target": "source_text"},
]


async def test_an_agent_imports_a_document_and_once_a_person_approves_a_survey(host: Host, tmp_path: Path) -> None:
    async with host.agent() as agent:
        await _imports_a_document(host, agent, tmp_path / "Talk.html")
        await _imports_a_survey(host, agent, tmp_path / "Wave.csv")


async def _imports_a_document(host: Host, agent: Agent, file: Path) -> None:
    file.write_text("<h1>Talk</h1><p>INTERVIEWER: Was it <b>loud</b>?</p><p>ANSWER: No.</p>")
    imported = await agent.call("import_file", path=str(file))
    again = await agent.call("import_file", path=str(file), name="Talk again")
    text = await agent.call("get_source_text", source_id=imported["source_id"])
    refused = await agent.refused("import_file", path="/etc/passwd")

    assert (imported["name"], imported["source_type"], imported["path"]) == ("Talk", "text", "Sources/Talk.md")
    assert text["content"] == "# Talk\n\nINTERVIEWER: Was it **loud**?\n\nANSWER: No.\n"
    assert [source["name"] for source in again["duplicates"]] == ["Talk"]
    assert refused["code"] == "FILE_NOT_FOUND"
    row = eventually(lambda: host.mirrord.page("Sources/Talk"), "the row of the source")
    assert str(row.id) == imported["pageId"]
    assert host.told(1, source_id=imported["source_id"]) == [("SourceImported", "agent", ACTOR)]


async def _imports_a_survey(host: Host, agent: Agent, file: Path) -> None:
    """It is imported as it was when it was asked for."""
    file.write_text(SURVEY)
    refused = await agent.refused("import_survey", path=str(file))
    assert refused["columns"] == ["Id", "Age", "Why?"]
    waiting = await pending(agent, "import_survey", path=str(file), column_mappings=MAPPINGS)
    assert waiting["preview"]["lines"] == ["Id | Age | Why?", "P1 | 34 | Because it is near.", "P2 |  | "]
    file.write_text("Id;Age;Why?\nX;1;others\n")
    imported = await granted(agent, host.mirrord, "import_survey", path=str(file), column_mappings=MAPPINGS)

    assert (imported["sources_created"], imported["cases_created"], imported["rows_processed"]) == (1, 2, 2)
    row = eventually(lambda: host.mirrord.page("Cases/Wave/P1"), "the row of a case")
    assert "[Why?](../../Sources/Wave/Why-.md#P1)" in (row.markdown or "")
    assert sorted(kind for kind, *_ in host.told(3, survey="Wave")) == ["CaseCreated", "CaseCreated", "SourceImported"]
    assert host.told(1, cases_path="Cases/Wave") == [("SurveyImported", "agent", ACTOR)]


def test_a_person_imports_at_the_command_line_and_nobody_is_asked(host: Host, admin_dsn: str, tmp_path: Path) -> None:
    run = commands(admin_dsn, host.mirrord.tenant, host.mirrord.directory)
    (tmp_path / "Notes.txt").write_text("Ana: Hi.\n")
    (tmp_path / "Locked.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    (tmp_path / "Second.csv").write_text(f"{SURVEY}P3;5;No.\n")
    import_run = run("sources", "import", str(tmp_path / "Notes.txt"), str(tmp_path / "Locked.doc"))
    assert "Sources/Notes.md" in import_run.out
    assert "before 2007" in import_run.err
    assert import_run.code != 0
    survey = ["sources", "survey", str(tmp_path / "Second.csv"), "--map", "Id=identifier", "--map", "2=source_text"]
    assert "3 rows, 3 cases" in run(*survey, "--dry-run").out
    survey_run = run(*survey, "--map", "Age=case_attribute:number:Years")
    assert survey_run.out == "3 rows: 1 sources in Sources/Second, 3 cases in Cases/Second.\n"
    assert "Years: 34" in host.mirrord.file("Cases/Second/P1.md").read_text()
    ((kind, by, _),) = host.told(1, cases_path="Cases/Second")
    assert (kind, by) == ("SurveyImported", "human")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_asks_hears_how_far_an_import_is(tmp_path: Path, mode: str) -> None:
    async def approve(_: ClientRequestContext, __: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={})

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "Talk.html").write_text("<p>Hello.</p>")
    rows = "".join(f"P{number};Because {number}.\n" for number in range(1_200))
    (outside / "Wave.csv").write_text(f"Id;Why?\n{rows}")
    tenant, gate = tenant_in(tmp_path / "mirror"), Gate(elicits=True)
    async with in_memory(tenant, mode=mode, sets=["sources"], gate=gate, elicitation_callback=approve) as agent:
        document = await _heard(agent, "import_file", path=str(outside / "Talk.html"))
        columns = [MAPPINGS[0], MAPPINGS[2]]
        survey = await _heard(agent, "import_survey", path=str(outside / "Wave.csv"), column_mappings=columns)

    for heard in (document, survey):
        shares = [share for share, _ in heard]
        assert shares == sorted(set(shares))
        assert len(shares) > 1
        assert heard[-1] == (100, 100)


async def _heard(agent: Agent, tool: str, **arguments: Any) -> list[tuple[float, float | None]]:
    """What the client of a call was told: how much was done, of how much."""
    heard = list[tuple[float, float | None]]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert message is None
        heard.append((progress, total))

    result = await agent.client.call_tool(tool, arguments, progress_callback=hear)
    assert not result.is_error, result.structured_content
    return heard


def test_a_person_imports_a_tree_and_exports_it_again(host: Host, admin_dsn: str, tmp_path: Path) -> None:
    mirrord, vault = host.mirrord, tmp_path / "vault"
    run = commands(admin_dsn, mirrord.tenant, mirrord.directory)
    for path in ("Home.md", "Work/Plan.md", "map.png", "Welcome.md"):
        save(vault / path, f"of the vault: {path}\n")

    looked = run("import", str(vault), "--dry-run")
    assert (looked.code, looked.out.splitlines()[0]) == (1, "agent-imports: 2 files are new, 0 were there already.")
    assert "'Welcome.md' is in the mirror with other bytes" in looked.err
    assert "passed over: 1 .png files that are neither pages nor attachments" in looked.out

    (vault / "Welcome.md").unlink()
    result = run("import", str(vault), "--json")

    facts = json.loads(result.out)
    assert (result.code, facts["imported"], facts["taken_in"]) == (0, 2, True)
    page = mirrord.page("Work/Plan")
    assert page is not None
    assert page.markdown == "of the vault: Work/Plan.md\n"
    assert run("export", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out/Work/Plan.md").read_text() == page.markdown
    inside = run("import", str(mirrord.root / "Work"))
    assert (inside.code, "needs no import" in inside.err) == (2, True)
