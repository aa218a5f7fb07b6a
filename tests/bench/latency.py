"""How long one edit takes to the other side, on an otherwise quiet mirror; in turns with loops that do nothing else."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from tests.bench import bare
from tests.bench.figures import Figure, Goal, median, tail
from tests.bench.ground import Ground
from tests.bench.processes import cpu_seconds
from tests.support.editors import save, save_in_place
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection, Page, page_of

EDITS = 200
PAGE = 4096  # bytes
PAUSE = 0.0005  # seconds between two looks: the resolution of these figures
EDIT_P50, EDIT_P99, EDIT_TIMES = 15.0, 40.0, 1.5  # milliseconds hoped for; times the bare loop
FILE_P50, FILE_P99 = 6.0, 20.0

_SAME_ROW = "INSERT INTO public.bare (path, text) VALUES (%s, %s)"
_RING = (
    "WITH written AS (UPDATE public.bare SET text = text || %s WHERE path = %s RETURNING path) "
    f"SELECT pg_notify('{bare.CHANNEL}', path) FROM written"
)

Write = Callable[[Connection, Page, str], None]


def edits_to_rows(ground: Ground, edits: int = EDITS) -> list[Figure]:
    """From just before an editor saves until another connection sees the new row; half the saves are in place."""
    mirrord, ids = ground.imported(), ground.ids()
    ours, theirs, name = [], [], f"edit → row, {ground.pages:,} pages"
    with _bare_rows(ground, edits) as loop:
        before = computed(mirrord)
        for number, path in enumerate(ground.nearest(PAGE, edits)):
            ours.append(edit_to_row(mirrord.app, mirrord.file(path), ids[path], number))
            theirs.append(loop.edit(number))
        cpu = (computed(mirrord) - before) / edits * 1000
    return [
        median(name, ours, Goal(EDIT_P50, EDIT_TIMES), theirs),
        tail(name, ours, EDIT_P99, theirs),
        Figure(f"{name}, CPU of the daemon", cpu, "ms"),
    ]


def computed(mirrord: Mirrord) -> float:
    """CPU seconds of a daemon and its workers until now."""
    return cpu_seconds([mirrord.pid, *mirrord.workers()])


def edit_to_row(app: Connection, file: Path, entry: UUID, number: int) -> float:
    """Milliseconds of one edit; when this returns mirrord has done what follows from it."""
    page = settled(app, entry)
    began = save_line(file, number)
    until(partial(is_newer, app, page), f"the row of edit {number}, {file}")
    span = milliseconds_since(began)
    settle(app, page)
    return span


def texts_to_files(ground: Ground, edits: int = EDITS) -> list[Figure]:
    """From the end of an app's commit of new `markdown` until the file has it and its directory is on disk."""

    def write(app: Connection, page: Page, line: str) -> None:
        app.execute("UPDATE mirrord.page SET markdown = markdown || %s WHERE id = %s", [f"\n{line}\n", page.id])

    return _rows_to_files(ground, edits, "row (markdown) → file, fsynced", write)


def documents_to_files(ground: Ground, edits: int = EDITS) -> list[Figure]:
    """From the end of an app's commit of a new `content` until the file has it, rendered and on disk."""

    def write(app: Connection, page: Page, line: str) -> None:
        assert page.content is not None
        fresh = {"type": "paragraph", "content": [{"type": "text", "text": line}]}
        content = {**page.content, "content": [*page.content["content"], fresh]}
        app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(content), page.id])

    return _rows_to_files(ground, edits, "row (document) → file, fsynced", write)


def _rows_to_files(ground: Ground, edits: int, name: str, write: Write) -> list[Figure]:
    mirrord, ids = ground.imported(), ground.ids()
    ours, theirs = [], []
    with _bare_files(ground, edits) as loop:
        for number, path in enumerate(ground.nearest(PAGE, edits)):
            line, page = f"{name} {number}", settled(mirrord.app, ids[path])
            write(mirrord.app, page, line)
            ours.append(_until_on_disk(mirrord.file(path), line))
            settle(mirrord.app, page)
            theirs.append(loop.edit(number))
    return [median(name, ours, Goal(FILE_P50), theirs), tail(name, ours, FILE_P99, theirs)]


def _until_on_disk(file: Path, line: str) -> float:
    """Milliseconds until *file* has *line* and a power cut would not undo it."""
    began = time.perf_counter()
    until(partial(_contains, file, line), f"{line!r} in {file}")
    holder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(holder)  # returns at once where the writer's own has returned
    os.close(holder)
    return milliseconds_since(began)


@dataclass(frozen=True, slots=True)
class BareRows:
    """A loop from files to rows at work on copies of pages, NUMBER.md in *directory*."""

    directory: Path
    app: Connection

    def edit(self, number: int) -> float:
        """Milliseconds of the same edit."""
        file = self.directory / f"{number}.md"
        began = save_line(file, number)
        self.await_row(file)
        return milliseconds_since(began)

    def await_row(self, file: Path) -> None:
        """Return when the row of *file* has its text."""
        parameters = [str(file), file.read_text(encoding="utf-8")]
        query = "SELECT 1 FROM public.bare WHERE path = %s AND text = %s"
        until(lambda: self.app.execute(query, parameters).fetchone() is not None, f"the bare loop's row of {file}")


@contextmanager
def _bare_rows(ground: Ground, pages: int) -> Iterator[BareRows]:
    with bare_rows(ground, {f"{n}.md": p for n, p in enumerate(ground.nearest(PAGE, pages))}) as loop:
        yield loop


@contextmanager
def bare_rows(ground: Ground, copies: dict[str, str]) -> Iterator[BareRows]:
    """The loop beside the daemon. copies: the page of the tree that each file is a copy of, by the file's name."""
    directory = ground.directory(f"bare-rows-{time.monotonic_ns()}")
    for name, path in copies.items():
        save(directory / name, ground.mirrord.file(path).read_bytes())
    with bare.looping("rows", directory, ground.dsn), psycopg.connect(ground.dsn, autocommit=True) as app:
        yield BareRows(directory, app)


@dataclass(frozen=True, slots=True)
class _BareFiles:
    """A loop from rows to files at work on copies of pages."""

    directory: Path
    app: Connection

    def edit(self, number: int) -> float:
        """Milliseconds of the same edit."""
        line = f"bare {number}"
        self.app.execute(_RING, [f"\n{line}\n", f"{number}.md"])
        return _until_on_disk(self.directory / f"{number}.md", line)


@contextmanager
def _bare_files(ground: Ground, pages: int) -> Iterator[_BareFiles]:
    directory = ground.directory(f"bare-files-{time.monotonic_ns()}")
    with bare.looping("files", directory, ground.dsn), psycopg.connect(ground.dsn, autocommit=True) as app:
        app.execute("TRUNCATE public.bare")
        for number, path in enumerate(ground.nearest(PAGE, pages)):
            text = ground.mirrord.file(path).read_text(encoding="utf-8")
            save(directory / f"{number}.md", text)
            app.execute(_SAME_ROW, [f"{number}.md", text])
        yield _BareFiles(directory, app)


def save_line(file: Path, number: int) -> float:
    """Add a line as editors do, every second time in place; when that began."""
    text = f"{file.read_bytes().decode()}\nedit {number}\n"
    began = time.perf_counter()
    (save_in_place if number % 2 else save)(file, text)
    return began


def settled(app: Connection, entry: UUID) -> Page:
    """The row of a page that has its document."""
    page = page_of(app, entry)
    assert page is not None, f"{entry} has no row"
    assert page.content is not None, f"{page.name} has no document"
    return page


def settle(app: Connection, page: Page) -> None:
    """Wait until mirrord has done what follows from an edit: the next one shall find it quiet."""
    eventually(
        lambda: (now := page_of(app, page.id)) and now.version > page.version and now.content and not now.ahead,
        f"the document of {page.name}",
    )


def is_newer(app: Connection, page: Page) -> bool:
    """Whether the row has another version by now."""
    newer = "SELECT 1 FROM mirrord.page WHERE id = %s AND version > %s"
    return app.execute(newer, [page.id, page.version]).fetchone() is not None


def _contains(file: Path, line: str) -> bool:
    return line.encode() in file.read_bytes()


def until(condition: Callable[[], bool], expectation: str) -> None:
    """Look very often."""
    eventually(condition, expectation, pause=PAUSE)


def milliseconds_since(began: float) -> float:
    """By the clock of time.perf_counter()."""
    return (time.perf_counter() - began) * 1000
