"""The picture of a mirrord at work: urgent first, as wide as there is room, and harmless to the terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from mirrord.cli.host.status_board import PIPE_COLUMNS, facts_of_pulse, facts_of_unsynced, iso_time, render_board
from mirrord.domain.problem_advice import REMEDIES
from tests.unit.test_operations_guide import problem_codes

PULSE = {
    "files": 1234,
    "pending": 0,
    "derived": True,
    "last_file_to_row": 1.0,
    "last_row_to_file": None,
    "file_to_row": {"count": 3, "last": 0.02, "median": 0.0081, "p99": 0.031},
    "row_to_file": None,
    "lately": [(1.0, "file → row", "Old.md"), (2.0, "row → file", "New.md")],
}
COUNTS = {"pages": 1200, "attachments": 30, "records": 4, "conflicts": 0, "problems": 0, "halts": 0}
UNKNOWN = dict.fromkeys(("trash", "history"))


def tenant(name: str = "demo", **changes: Any) -> dict[str, Any]:
    return {"name": name, **COUNTS, **UNKNOWN, **facts_of_pulse(PULSE), **changes}


def found(*tenants: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "daemon": {"pid": 12, "alive": True, "ready": True, "since": iso_time(0.0)},
        "database": {"embedded": True, "server_version": "18.4", "outage": None},
        "tenants": list(tenants),
        "attention": [],
        "degraded": [],
        **changes,
    }


def need(kind: str, sentence: str, remedy: str = "") -> dict[str, str]:
    return {"tenant": "demo", "kind": kind, "path": "", "sentence": sentence, "remedy": remedy}


def drawn(state: dict[str, Any], width: int = PIPE_COLUMNS, max_lines: int | None = None) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(render_board(state, width=width, max_lines=max_lines))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_latencies_of_the_last_minutes_stand_beside_the_counts() -> None:
    line = next(line for line in drawn(found(tenant())).splitlines() if line.startswith("demo"))
    assert line.split()[1:9] == ["1,234", "1,200", "30", "4", "0", "0", "0", "0"]
    assert "8.1 · 31" in line


@pytest.mark.parametrize(
    ("kind", "total", "line"),
    [
        ("scan", 10_000, "demo: looking at the whole tree: 2,500 of 10,000 (25%)"),
        ("import", None, "demo: working through files and rows: 2,500"),
        ("derive", 3_000, "demo: making documents: 2,500 of 3,000 (83%)"),
        ("command", 2_500, "demo: carrying out what was approved: 2,500 of 2,500 (100%)"),
    ],
)
def test_long_work_says_how_far_it_is(kind: str, total: int | None, line: str) -> None:
    work = [{"what": kind, "done": 2_500, "total": total}]
    assert line in drawn(found(tenant(work=work))).splitlines()
    assert facts_of_pulse(PULSE | {"work": work})["work"] == work
    assert "demo:" not in drawn(found(tenant()))


@pytest.mark.parametrize(
    ("width", "present", "absent"), [(160, "assets", "…"), (100, "p99", "assets"), (80, "halts", "p99")]
)
def test_a_narrow_terminal_gets_what_matters_most(width: int, present: str, absent: str) -> None:
    text = drawn(found(tenant()), width)
    assert present in text
    assert absent not in text
    assert max(map(len, text.splitlines())) <= width


def test_what_needs_a_person_comes_with_the_command_and_halts_come_first() -> None:
    needs = [
        need("problem", "It cannot be read."),
        need("conflict", "2 are open."),
        need("halt", "Gone.", "`mirrord x`"),
    ]
    lines = [line for line in drawn(found(tenant(), attention=needs)).splitlines() if " in demo: " in line]
    assert [line.split()[0] for line in lines] == ["halt", "conflict", "problem"]
    assert lines[0].rstrip() == "halt in demo: Gone. → `mirrord x`"


def test_of_many_tenants_those_are_shown_that_something_waits_for() -> None:
    many = [tenant(f"t{number}") for number in range(30)]
    text = drawn(found(*many, tenant("z-busy", pending=9), tenant("z-bad", conflicts=1)), max_lines=3)
    names = [line.split()[0] for line in text.splitlines() if line.startswith(("t", "z"))][1:]
    assert names == ["z-bad", "z-busy", "t0"]
    assert "… 29 more" in text


def test_only_so_much_is_listed_and_the_rest_is_counted() -> None:
    text = drawn(found(tenant(), attention=[need("problem", str(number)) for number in range(9)]), max_lines=4)
    assert text.count("problem in demo") == 4
    assert "… and 5 more" in text


def test_what_was_done_last_stands_first() -> None:
    text = drawn(found(tenant()))
    assert text.index("New.md") < text.index("Old.md")


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "in sync"),
        ({"tenants": [tenant(pending=3)]}, "working"),
        ({"tenants": [tenant(derived=False)]}, "working"),
        ({"tenants": [tenant(work=[{"what": "scan", "done": 1, "total": 2}])]}, "working"),
        ({"tenants": [tenant(), tenant("other", problems=1)]}, "needs you"),
        ({"tenants": [tenant(halts=1)]}, "needs you"),
        ({"tenants": [tenant(files=None)]}, "needs you"),  # its tree was not opened
        ({"database": {"embedded": False, "server_version": None, "outage": "No."}}, "needs you"),
        ({"daemon": {"pid": 1, "alive": True, "ready": False, "since": None}}, "starting"),
        ({"daemon": {"pid": None, "alive": False, "ready": False, "since": None}}, "not running"),
    ],
)
def test_the_first_line_says_how_it_is(changes: dict[str, Any], state: str) -> None:
    first = drawn({**found(tenant()), **changes}).splitlines()[0]
    assert first.startswith(f"mirrord {state} ")


def test_postgres_out_of_reach_is_said() -> None:
    database = {"embedded": False, "server_version": None, "outage": "No."}
    text = drawn(found(database=database, degraded=["No."]))
    assert "Postgres out of reach" in text
    assert "! No." in text


def test_a_page_cannot_make_the_terminal_obey() -> None:
    evil = "\x1b[2J[red]x"
    shown_tenant = tenant(lately=[{"at": iso_time(1.0), "direction": "file → row", "path": evil}])
    text = drawn(found(shown_tenant, attention=[need("problem", evil)], degraded=[evil]))
    assert "\x1b" not in text
    assert text.count("[red]x") == 3


def test_every_kind_of_problem_has_a_remedy() -> None:
    assert set(REMEDIES) == set(problem_codes())


def test_files_that_are_not_synced_are_told_with_what_takes_them_in() -> None:
    untaken = {"files": 4, "endings": {".png": 2, ".md": 1, "": 1}, "example": "a.png", "attachments": ["assets/"]}
    lines = drawn(found(tenant(not_synced=facts_of_unsynced(untaken)))).splitlines()
    line = next(line for line in lines if "not synced" in line)
    assert line.startswith("demo: 4 files are not synced: 2 .png, 1 without an ending, 1 .md; for instance 'a.png'.")
    text = " ".join(" ".join(lines).split())
    assert '`attachments = ["assets/", "*.png"]` below [mirror] in mirrord.toml takes them in' in text

    none = facts_of_unsynced({"files": 0, "endings": {}, "example": None, "attachments": ["assets/"]})
    assert "not synced" not in drawn(
        found(tenant(not_synced=none), tenant("other", not_synced=facts_of_unsynced(None)))
    )
