"""A bound app: how long its writes take to files, how long its rows take to be pages, what its triggers cost it."""

import re
import statistics
import subprocess
import time
from pathlib import Path

from mirrord.db.server.embedded_server import EmbeddedPostgres
from tests.bench.figures import Figure, Goal, median, tail
from tests.bench.ground import PATIENCE, Ground
from tests.bench.latency import milliseconds_since, settle, settled, until
from tests.support.harness import eventually
from tests.support.rows import Connection

EDITS = 100
ROWS = 3_000  # of the app, adopted at once
LATENCY_TIMES, ADOPTION_TIMES = 1.5, 2.0  # goals, as multiples of a row of mirrord and of an import
CLIENTS, ROUNDS, ROUND_SECONDS = 4, 6, 3
LEAST_THROUGHPUT = 0.9  # of the app's own, with triggers

_SCHEMA = """
CREATE SCHEMA app;
CREATE TABLE app.note (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL, body text, seen integer)
"""
_MAPPING = """
[binding]
name = "bench"
[page]
table = "app.note"
id = "id"
title = "title"
[body]
column = "body"
format = "markdown"
"""
_BODY = "'# Heading' || E'\\n\\n' || repeat('Some words of note ' || n || E'.\\n\\n', 40)"


def measure(ground: Ground) -> list[Figure]:
    """All figures, on one binding."""
    mirrord = ground.imported()
    with ground.administered() as app:
        app.execute(_SCHEMA.encode())
        rows = round(ROWS * ground.share)
        mapping = mirrord.directory / "bench.toml"
        mapping.write_text(_MAPPING)
        adopted = _adopted(ground, app, mapping, rows)
        edits = _edits_to_files(ground, app, max(4, round(EDITS * ground.share)))
        mirrord.stop()
        return [adopted, *edits, _cost_of_triggers(ground, app)]


def _adopted(ground: Ground, app: Connection, mapping: Path, rows: int) -> Figure:
    """From `bind add` until every row has its file, beside as many new files until every one has its row."""
    mirrord, root = ground.mirrord, ground.mirrord.root
    app.execute(
        f"INSERT INTO app.note (title, body) SELECT 'Note ' || n, {_BODY} FROM generate_series(1, {rows}) AS n".encode()
    )
    text = app.execute("SELECT body FROM app.note LIMIT 1").fetchone()
    assert text is not None
    began = time.perf_counter()
    for number in range(rows):
        (root / f"File {number}.md").write_text(text[0])
    _await_count(app, "SELECT count(*) FROM mirrord.mirror_base WHERE path LIKE 'File %'", rows)
    imported = time.perf_counter() - began
    _await_rest(ground)
    completed = mirrord.run("bind", "add", str(mapping))
    assert completed.returncode == 0, completed.stderr
    began = time.perf_counter()
    _await_count(app, "SELECT count(*) FROM mirrord.mirror_base WHERE path LIKE 'Note %'", rows)
    seconds = time.perf_counter() - began
    _await_rest(ground)
    return Figure(
        f"{rows:,} rows of an app → files, beside new files → rows", seconds, "s", Goal(times=ADOPTION_TIMES), imported
    )


def _await_rest(ground: Ground) -> None:
    ground.until_documents()
    ground.mirrord.flush(PATIENCE)
    ground.until_linked()


def _await_count(app: Connection, query: str, count: int) -> None:
    def is_complete() -> bool:
        row = app.execute(query.encode()).fetchone()
        return row is not None and int(row[0]) >= count

    eventually(is_complete, f"{count} entries", PATIENCE, pause=0.05)


def _edits_to_files(ground: Ground, app: Connection, edits: int) -> list[Figure]:
    """From the end of a commit of the app until the file has the text, in turns with commits to rows of mirrord."""
    mirrord = ground.mirrord
    ids = [row[0] for row in app.execute("SELECT id FROM app.note ORDER BY title LIMIT %s", [edits]).fetchall()]
    ours: list[float] = []
    theirs: list[float] = []
    paths = ground.ids()
    for number, (note, path) in enumerate(zip(ids, ground.nearest(4096, edits), strict=True)):
        row = app.execute("SELECT path FROM mirrord.mirror_base WHERE entry_id = %s", [note]).fetchone()
        assert row is not None
        page = settled(mirrord.app, note)
        app.execute("UPDATE app.note SET body = body || %s WHERE id = %s", [f"\nof the app {number}\n", note])
        ours.append(_until_in_file(mirrord.file(row[0]), f"of the app {number}"))
        settle(mirrord.app, page)
        page = settled(mirrord.app, paths[path])
        mirrord.app.execute(
            "UPDATE mirrord.page SET markdown = markdown || %s WHERE id = %s", [f"\nof a row {number}\n", page.id]
        )
        theirs.append(_until_in_file(mirrord.file(path), f"of a row {number}"))
        settle(mirrord.app, page)
    name = "commit of an app → file, beside row → file"
    return [median(name, ours, Goal(times=LATENCY_TIMES), theirs), tail(name, ours, None, theirs)]


def _until_in_file(file: Path, line: str) -> float:
    began = time.perf_counter()
    until(lambda: line.encode() in file.read_bytes(), f"{line!r} in {file}")
    return milliseconds_since(began)


def _cost_of_triggers(ground: Ground, app: Connection) -> Figure:
    """Writes a second of an app with CLIENTS connections, in turns without triggers; no daemon competes with it."""
    states = {"without": "DISABLE", "with": "ENABLE"}
    rates: dict[str, list[float]] = {state: [] for state in states}
    script = _script(ground, app)
    for number in range(max(2, round(ROUNDS * ground.share))):
        for state in sorted(states, reverse=number % 2 == 1):
            app.execute(f"ALTER TABLE app.note {states[state]} TRIGGER USER".encode())
            rates[state].append(_writes_a_second(ground, script))
            app.execute("TRUNCATE mirrord_bind.change")
    without = statistics.median(rates["without"])
    return Figure(
        f"writes of an app, {CLIENTS} clients, with triggers",
        statistics.median(rates["with"]),
        "a second",
        Goal(times=None, limit=LEAST_THROUGHPUT * without, at_least=True),
        without,
    )


def _script(ground: Ground, app: Connection) -> Path:
    """A file with one write of the app, of a row at random."""
    rows = app.execute("SELECT count(*) FROM app.note").fetchone()
    assert rows is not None
    script = ground.directory("bound-writes") / "write.sql"
    app.execute("ALTER TABLE app.note ADD number serial UNIQUE")
    script.write_text(
        f"\\set number random(1, {rows[0]})\nUPDATE app.note SET body = 'Words of ' || :number || random() "
        "WHERE number = :number;\n"
    )
    return script


def _writes_a_second(ground: Ground, script: Path) -> float:
    completed = subprocess.run(
        [
            EmbeddedPostgres.program_path("pgbench"),
            *("-n", "-c", str(CLIENTS), "-j", "2", "-T", str(ROUND_SECONDS), "-f", str(script), ground.dsn),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    rate = re.search(r"tps = ([0-9.]+)", completed.stdout)
    assert rate is not None, completed.stdout
    return float(rate.group(1))
