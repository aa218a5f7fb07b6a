"""A bound app: how long its writes take to files, those of files to its rows, and its rows to be pages."""

import time
from pathlib import Path
from uuid import UUID

from mirrord.sync.decisions.stale_buffers import BUFFER_SECONDS
from tests.bench import bound_writes
from tests.bench.figures import Figure, Goal, median, tail
from tests.bench.ground import PATIENCE, Ground
from tests.bench.latency import edit_to_row, milliseconds_since, save_line, settle, settled, until
from tests.support.harness import eventually
from tests.support.rows import Connection

EDITS = 100
ROWS = 3_000  # of the app, adopted at once
LATENCY_TIMES, ADOPTION_TIMES = 1.5, 2.0  # goals, as multiples of a row of mirrord and of an import

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
_MEMO_SCHEMA = "CREATE TABLE app.memo (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL, body text)"
_MEMO_MAPPING = _MAPPING.replace('"bench"', '"memos"\nmode = "both"').replace("app.note", "app.memo")
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
        count = max(4, round(EDITS * ground.share))
        edits = [*_edits_to_files(ground, app, count), *_edits_to_app_rows(ground, app, count)]
        mirrord.stop()
        return [adopted, *edits, *bound_writes.costs_of_triggers(ground, app, rows)]


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


def _edits_to_app_rows(ground: Ground, app: Connection, edits: int) -> list[Figure]:
    """From just before an editor saves until the app has the text, in turns with edits of files to rows of mirrord."""
    mirrord = ground.mirrord
    app.execute(_MEMO_SCHEMA.encode())
    numbers = f"generate_series(1, {edits}) AS n"
    app.execute(f"INSERT INTO app.memo (title, body) SELECT 'Memo ' || n, {_BODY} FROM {numbers}".encode())
    mapping = mirrord.directory / "memos.toml"
    mapping.write_text(_MEMO_MAPPING)
    completed = mirrord.run("bind", "add", str(mapping))
    assert completed.returncode == 0, completed.stderr
    _await_count(app, "SELECT count(*) FROM mirrord.mirror_base WHERE path LIKE 'Memo %'", edits)
    _await_rest(ground)
    memos = app.execute(
        "SELECT entry_id, path FROM mirrord.mirror_base WHERE path LIKE 'Memo %' ORDER BY path"
    ).fetchall()
    ids, ours, theirs = ground.ids(), [], []
    time.sleep(BUFFER_SECONDS)  # as the other pages, these are not new: a save just after mirrord's is no plain one
    for number, ((memo, memo_path), path) in enumerate(zip(memos, ground.nearest(4096, edits), strict=True)):
        ours.append(_until_in_app(ground, app, memo, mirrord.file(memo_path), number))
        theirs.append(edit_to_row(mirrord.app, mirrord.file(path), ids[path], number))
    name = "edit of a file → row of an app, beside edit → row"
    return [median(name, ours, Goal(times=LATENCY_TIMES), theirs), tail(name, ours, None, theirs)]


def _until_in_app(ground: Ground, app: Connection, memo: UUID, file: Path, number: int) -> float:
    page = settled(ground.mirrord.app, memo)
    query = "SELECT FROM app.memo WHERE id = %s AND body LIKE %s"
    began = save_line(file, number)
    until(lambda: app.execute(query, [memo, f"%edit {number}\n"]).fetchone() is not None, f"edit {number} in the app")
    span = milliseconds_since(began)
    settle(ground.mirrord.app, page)
    return span
