"""`mirrord folders` and `mirrord sources`: a person's way to what agents' tools do, without Postgres."""

import json
from pathlib import Path

import pytest

from mirrord.domain.entry import new_id
from mirrord.research.sources.source_kinds import number_of
from tests.support.clients import tenant_in
from tests.support.commands import Command, Done

ANA, BEN = new_id(), new_id()
PAGES = {
    "Sources/Ana.md": f"---\nid: {ANA}\ntype: source\n---\nAna: Hi.\n",
    "Sources/Ben.md": f"---\nid: {BEN}\ntype: source\nsource_type: audio\n---\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tenant_in(tmp_path / "mirror", pages=PAGES).root


def events(root: Path) -> list[dict[str, object]]:
    (file,) = (root / ".records/events").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_person_orders_sources_in_folders(root: Path, run: Command) -> None:
    assert run("folders", "list") == Done(0, err="No folders.\n")
    assert run("folders", "create", "Talks").code == 0
    assert run("folders", "create", "2024", "--in", "Talks").code == 0
    assert run("sources", "move", "ana", "Talks/2024") == Done(0, "Sources/Talks/2024/Ana.md\n")
    listed = json.loads(run("folders", "list", "--json").out)
    assert [(folder["name"], folder["parent_id"]) for folder in listed] == [("Talks", None), ("2024", listed[0]["id"])]
    assert run("folders", "rename", "Sources/Talks", "Interviews") == Done(0, "Talks is called Interviews.\n")
    result = run("folders", "delete", str(listed[1]["id"]))
    assert (result.code, "not empty: it holds 1 source." in result.err) == (4, True)
    assert run("sources", "move", str(number_of(ANA)), "/") == Done(0, "Sources/Ana.md\n")
    assert run("folders", "delete", "Interviews/2024").code == 0
    assert [line.split()[1:] for line in run("folders", "list").out.splitlines()] == [["Sources/Interviews"]]


def test_a_person_reads_renames_and_deletes_sources(root: Path, run: Command) -> None:
    assert run("sources", "text", "Ana") == Done(0, "Ana: Hi.\n")
    assert run("sources", "text", "Sources/Ana", "--start", "5", "--length", "2") == Done(0, "Hi")
    assert run("sources", "rename", str(ANA), "Anna") == Done(0, "Ana is called Anna: Sources/Anna.md\n")
    assert run("sources", "delete", "Ben").code == 0
    assert [line.split()[0] for line in run("sources", "list").out.splitlines()] == [str(number_of(ANA))]
    assert run("sources", "list", "--type", "audio") == Done(0, err="No sources.\n")


def test_a_person_lets_speakers_be_marked_after_a_look(root: Path, run: Command) -> None:
    talk = "Ana: Is it on?\n\nBen: I think so.\n\nAna: Good.\n\nBen: Now?\n"
    (root / "Sources/Talk.md").write_text(f"---\ntype: source\n---\n{talk}")
    looked = run("sources", "speakers", "Talk", "--dry-run")
    assert looked == Done(0, "In the source 'Talk' 4 turns of 2 speakers would be marked.\n" + LOOKED)
    assert not (root / ".records/segments").exists()
    assert run("sources", "speakers", "Talk") == Done(0, "    2  Ana\n    2  Ben\n", "4 turns are marked.\n")
    assert run("sources", "speakers", "Talk", "--format", "brace").err == "No speakers were found.\n"
    preview = run("sources", "speakers", "Talk", "--format", "brace", "--dry-run")
    assert preview.out.startswith("The source 'Talk' has no speakers")
    assert "4 turns" in run("sources", "speakers", "Talk", "--dry-run").out
    assert [event["type"] for event in events(root)] == ["SpeakersDetected"]


LOOKED = "Ana: 2\nBen: 2\nAna | Is it on?\nBen | I think so.\nAna | Good.\nBen | Now?\n"


def test_what_a_person_does_is_told_by_the_same_events(root: Path, run: Command) -> None:
    run("folders", "create", "Talks")
    run("sources", "move", "Ana", "Talks")
    run("sources", "rename", "Ana", "Anna")
    run("sources", "move", "Anna", "/")
    run("folders", "rename", "Talks", "Interviews")
    run("folders", "delete", "Interviews")
    run("sources", "delete", "Anna")

    recorded = events(root)
    assert [event["type"] for event in recorded] == [
        *("FolderCreated", "SourceMovedToFolder", "SourceRenamed", "SourceMovedToFolder", "FolderRenamed"),
        *("FolderDeleted", "SourceDeleted"),
    ]
    assert {json.dumps(event["actor"]) for event in recorded} == {'{"kind": "human", "name": "ana"}'}


def test_what_is_wrong_is_said_in_a_sentence(run: Command) -> None:
    assert run("folders", "create", "a/b") == Done(2, err="mirrord: The name 'a/b' contains /.\n")
    assert run("sources", "delete", "Cara") == Done(2, err="mirrord: There is no source with the id Cara.\n")
    assert run("sources", "list", "--tenant", "other").code == 2
