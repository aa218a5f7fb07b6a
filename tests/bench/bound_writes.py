"""What the triggers of a binding cost an app: writes a second with and without them, in many short turns."""

import re
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

from mirrord.db.server.embedded_server import EmbeddedPostgres
from tests.bench.figures import Figure, Goal
from tests.bench.ground import Ground
from tests.support.rows import Connection

CLIENTS, TURNS, TURN_SECONDS = 4, 12, 1  # turns of each kind; short ones, since the speed of a machine changes
LEAST_THROUGHPUT = 0.9  # of the app's own, with triggers

# What an editor of an app does when a person saves: it looks, writes the body, a version and the stamps of the page.
_SAVE_SCHEMA = """
CREATE TABLE app.version (note uuid NOT NULL REFERENCES app.note, at timestamptz NOT NULL DEFAULT now(), body text);
CREATE INDEX version_of_note ON app.version (note, at);
ALTER TABLE app.note ADD version integer NOT NULL DEFAULT 1, ADD updated_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX note_by_time ON app.note (updated_at);
CREATE INDEX note_by_title ON app.note (title)
"""
_SAVE = """
BEGIN;
SELECT id, title, version, body FROM app.note WHERE number = :number;
UPDATE app.note SET body = '# Heading' || E'\\n\\n' || repeat('Words of ' || :word || E' in a note.\\n\\n', 150),
       version = version + 1, updated_at = now() WHERE number = :number;
INSERT INTO app.version (note, body) SELECT id, body FROM app.note WHERE number = :number;
COMMIT;
"""
_LONE_UPDATE = "UPDATE app.note SET body = 'Words of ' || :number || random() WHERE number = :number;\n"


def costs_of_triggers(ground: Ground, app: Connection, rows: int) -> list[Figure]:
    """Of saves as editors make them, and of the smallest write there is. rows: of app.note; no daemon runs."""
    app.execute("ALTER TABLE app.note ADD number serial UNIQUE")
    lone = _cost_of(ground, app, "smallest writes", _LONE_UPDATE, rows)
    app.execute(_SAVE_SCHEMA.encode())
    return [_cost_of(ground, app, "saves", _SAVE, rows), lone]


def _cost_of(ground: Ground, app: Connection, name: str, write: str, rows: int) -> Figure:
    script = ground.directory(f"bound-{name.replace(' ', '-')}") / "write.sql"
    script.write_text(f"\\set number random(1, {rows})\n\\set word random(1, 1000000)\n{write}")
    turns = max(2, round(TURNS * ground.share))
    without, with_triggers = _rates(app, turns, lambda: _writes_a_second(ground, script))
    return Figure(
        f"{name} of an app, {CLIENTS} clients, with triggers",
        statistics.median(with_triggers),
        "a second",
        Goal(times=None, limit=LEAST_THROUGHPUT * statistics.median(without), at_least=True),
        statistics.median(without),
    )


def _rates(app: Connection, turns: int, measure: Callable[[], float]) -> tuple[list[float], list[float]]:
    """The results of *measure* without and with triggers."""
    states = ("DISABLE", "ENABLE")
    rates: dict[str, list[float]] = {state: [] for state in states}
    for number in range(turns):
        for state in states if number % 2 else states[::-1]:
            app.execute(f"ALTER TABLE app.note {state} TRIGGER USER".encode())
            rates[state].append(measure())
            app.execute("TRUNCATE mirrord_bind.change")
    return rates["DISABLE"], rates["ENABLE"]


def _writes_a_second(ground: Ground, script: Path) -> float:
    completed = subprocess.run(
        [
            EmbeddedPostgres.program_path("pgbench"),
            *("-n", "-c", str(CLIENTS), "-j", "2", "-T", str(TURN_SECONDS), "-f", str(script), ground.dsn),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    rate = re.search(r"tps = ([0-9.]+)", completed.stdout)
    assert rate is not None, completed.stdout
    return float(rate.group(1))
