"""How long one edit takes to the other side, on an otherwise quiet mirror."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb

from tests.bench.figures import Figure, median, tail
from tests.system.editors import save, save_in_place
from tests.system.harness import Mirrord, eventually
from tests.system.rows import Connection, Page, page_of

EDITS = 200
PAUSE = 0.0005  # seconds between two looks: the resolution of these figures
EDIT_TO_ROW, ROW_TO_FILE = 40.0, 25.0  # milliseconds hoped for


def edits_to_rows(mirrord: Mirrord, paths: Sequence[str]) -> list[Figure]:
    """From just before an editor saves until another connection sees the new row; half the saves are in place."""
    app, spans = mirrord.app, []
    for number, path in enumerate(paths[:EDITS]):
        page = _settled(mirrord, path)
        began = _save(mirrord.file(path), number)
        _until(partial(_is_newer, app, page), f"the row of edit {number}, {path}")
        spans.append(_milliseconds_since(began))
        _settle(app, page)
    return [median("edit → row", spans, EDIT_TO_ROW), tail("edit → row", spans)]


def texts_to_files(mirrord: Mirrord, paths: Sequence[str]) -> list[Figure]:
    """From the end of an app's commit of new `markdown` until the file has it."""

    def write(app: Connection, page: Page, line: str) -> None:
        app.execute("UPDATE mirrord.page SET markdown = markdown || %s WHERE id = %s", [f"\n{line}\n", page.id])

    return _rows_to_files(mirrord, paths, "row (markdown) → file", write)


def documents_to_files(mirrord: Mirrord, paths: Sequence[str]) -> list[Figure]:
    """From the end of an app's commit of a new `content` until the file has it, rendered."""

    def write(app: Connection, page: Page, line: str) -> None:
        assert page.content is not None
        fresh = {"type": "paragraph", "content": [{"type": "text", "text": line}]}
        content = {**page.content, "content": [*page.content["content"], fresh]}
        app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(content), page.id])

    return _rows_to_files(mirrord, paths, "row (document) → file", write)


def _rows_to_files(
    mirrord: Mirrord, paths: Sequence[str], name: str, write: Callable[[Connection, Page, str], None]
) -> list[Figure]:
    app, spans = mirrord.app, []
    for number, path in enumerate(paths[:EDITS]):
        page, line, file = _settled(mirrord, path), f"{name} {number}", mirrord.file(path)
        write(app, page, line)
        began = time.perf_counter()
        _until(partial(_contains, file, line), f"the file of edit {number}, {path}")
        spans.append(_milliseconds_since(began))
        _settle(app, page)
    return [median(name, spans, ROW_TO_FILE), tail(name, spans)]


def beside_bare_loop(directory: Path, dsn: str, figures: Sequence[Figure]) -> list[Figure]:
    """The figures of `edits_to_rows` with those of a bare loop beside them, on the same disk and Postgres."""
    spans = bare_edits(directory, dsn)
    bare = [median("", spans), tail("", spans)]
    return [replace(one, bare=other.value) for one, other in zip(figures, bare, strict=True)]


def bare_edits(directory: Path, dsn: str) -> list[float]:
    """Milliseconds from each save to the row of a bare loop (`tests.bench.bare`)."""
    spans = []
    for number in range(EDITS):
        save(directory / f"{number}.md", "# A page\n")
    with _bare_loop(directory, dsn), psycopg.connect(dsn, autocommit=True) as connection:
        for number in range(EDITS):
            file = directory / f"{number}.md"
            began = _save(file, number)
            wanted = [str(file), file.read_text(encoding="utf-8")]
            _until(partial(_has_bare_row, connection, wanted), f"the bare loop's row of edit {number}")
            spans.append(_milliseconds_since(began))
    return spans


@contextmanager
def _bare_loop(directory: Path, dsn: str) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.bench.bare", str(directory), dsn]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the bare loop ended before it watched"
            yield
        finally:
            process.terminate()


def _has_bare_row(connection: Connection, wanted: list[str]) -> bool:
    found = connection.execute("SELECT 1 FROM public.bare WHERE path = %s AND text = %s", wanted)
    return found.fetchone() is not None


def _save(file: Path, number: int) -> float:
    """Add a line as editors do, every second time in place; when that began."""
    text = f"{file.read_bytes().decode()}\nedit {number}\n"
    began = time.perf_counter()
    (save_in_place if number % 2 else save)(file, text)
    return began


def _settled(mirrord: Mirrord, path: str) -> Page:
    page = mirrord.page(path)
    assert page is not None, f"{path} has no row"
    assert page.content is not None, f"{path} has no document"
    return page


def _settle(app: Connection, page: Page) -> None:
    """Wait until mirrord has done what follows from an edit: the next one shall find it quiet."""
    eventually(
        lambda: (now := page_of(app, page.id)) and now.version > page.version and now.content and not now.ahead,
        f"the document of {page.name}",
    )


def _is_newer(app: Connection, page: Page) -> bool:
    newer = "SELECT 1 FROM mirrord.page WHERE id = %s AND version > %s"
    return app.execute(newer, [page.id, page.version]).fetchone() is not None


def _contains(file: Path, line: str) -> bool:
    return line.encode() in file.read_bytes()


def _until(condition: Callable[[], bool], what: str) -> None:
    eventually(condition, what, pause=PAUSE)


def _milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
