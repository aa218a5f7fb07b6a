"""`mirrord folders` and `mirrord sources`: a person's way to what agents' tools do, without Postgres."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.cli.commands import cli
from mirrord.domain.entry import new_id
from mirrord.domain.number import number_of
from tests.system.clients import tenant_in

Run = Callable[..., tuple[int, str]]
ANA, BEN = new_id(), new_id()
PAGES = {
    "Sources/Ana.md": f"---\nid: {ANA}\ntype: source\n---\nAna: Hi.\n",
    "Sources/Ben.md": f"---\nid: {BEN}\ntype: source\nsource_type: audio\n---\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tenant_in(tmp_path / "mirror", pages=PAGES).root


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """What a command ends with: its exit code, and what it says on both channels."""
    monkeypatch.setenv("USER", "ana")

    def act(*words: str) -> tuple[int, str]:
        given = [*words, "--mirror", str(root.parent), "--data", str(root.parents[1] / "data")]
        code = cli.main(given, prog_name="mirrord", standalone_mode=False) or 0
        said = capsys.readouterr()
        return code, said.out + said.err

    return act


def events(root: Path) -> list[dict[str, object]]:
    (file,) = (root / ".records/events").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_person_orders_sources_in_folders(root: Path, run: Run) -> None:
    assert run("folders", "list") == (0, "No folders.\n")
    assert run("folders", "create", "Talks")[0] == 0
    assert run("folders", "create", "2024", "--in", "Talks")[0] == 0
    assert run("sources", "move", "ana", "Talks/2024") == (0, "Sources/Talks/2024/Ana.md\n")
    listed = json.loads(run("folders", "list", "--json")[1])
    assert [(one["name"], one["parent_id"]) for one in listed] == [("Talks", None), ("2024", listed[0]["id"])]
    assert run("folders", "rename", "Sources/Talks", "Interviews") == (0, "Talks is called Interviews.\n")
    code, said = run("folders", "delete", str(listed[1]["id"]))
    assert (code, "not empty: it holds 1 source." in said) == (4, True)
    assert run("sources", "move", str(number_of(ANA)), "/") == (0, "Sources/Ana.md\n")
    assert run("folders", "delete", "Interviews/2024")[0] == 0
    assert [line.split()[1:] for line in run("folders", "list")[1].splitlines()] == [["Sources/Interviews"]]


def test_a_person_reads_renames_and_deletes_sources(root: Path, run: Run) -> None:
    assert run("sources", "text", "Ana") == (0, "Ana: Hi.\n")
    assert run("sources", "text", "Sources/Ana", "--start", "5", "--length", "2") == (0, "Hi")
    assert run("sources", "rename", str(ANA), "Anna") == (0, "Ana is called Anna: Sources/Anna.md\n")
    assert run("sources", "delete", "Ben")[0] == 0
    assert [line.split()[0] for line in run("sources", "list")[1].splitlines()] == [str(number_of(ANA))]
    assert run("sources", "list", "--type", "audio") == (0, "No sources.\n")


def test_a_person_lets_speakers_be_marked_after_a_look(root: Path, run: Run) -> None:
    talk = "Ana: Is it on?\n\nBen: I think so.\n\nAna: Good.\n\nBen: Now?\n"
    (root / "Sources/Talk.md").write_text(f"---\ntype: source\n---\n{talk}")
    looked = run("sources", "speakers", "Talk", "--dry-run")
    assert looked == (0, "In the source 'Talk' 4 turns of 2 speakers would be marked.\n" + LOOKED)
    assert not (root / ".records/segments").exists()
    assert run("sources", "speakers", "Talk") == (0, "    2  Ana\n    2  Ben\n4 turns are marked.\n")
    assert run("sources", "speakers", "Talk", "--format", "brace")[1] == "Nobody speaks.\n"
    assert [event["type"] for event in events(root)] == ["SpeakersDetected", "SpeakersDetected"]


LOOKED = "Ana: 2\nBen: 2\nAna | Is it on?\nBen | I think so.\nAna | Good.\nBen | Now?\n"


def test_what_a_person_does_is_told_by_the_same_events(root: Path, run: Run) -> None:
    run("folders", "create", "Talks")
    run("sources", "move", "Ana", "Talks")
    run("sources", "rename", "Ana", "Anna")
    run("sources", "move", "Anna", "/")
    run("folders", "rename", "Talks", "Interviews")
    run("folders", "delete", "Interviews")
    run("sources", "delete", "Anna")

    told = events(root)
    assert [one["type"] for one in told] == [
        *("FolderCreated", "SourceMovedToFolder", "SourceRenamed", "SourceMovedToFolder", "FolderRenamed"),
        *("FolderDeleted", "SourceDeleted"),
    ]
    assert {json.dumps(one["actor"]) for one in told} == {'{"kind": "human", "name": "ana"}'}


def test_what_is_wrong_is_said_in_a_sentence(run: Run) -> None:
    assert run("folders", "create", "a/b") == (2, "mirrord: The name 'a/b' contains /.\n")
    assert run("sources", "delete", "Cara") == (2, "mirrord: There is no source with the id Cara.\n")
    assert run("sources", "list", "--tenant", "other")[0] == 2
