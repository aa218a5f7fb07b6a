"""The functions and modules that one edit runs through in a real daemon, up to the conclusion of its pass."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.config import Config
from mirrord.daemon.running_mirror import RunningMirror
from mirrord.db.database import app_dsn
from tests.support.call_traces import CallTrace, Function, traced_daemon
from tests.support.editors import save, save_in_place
from tests.support.harness import eventually
from tests.support.rows import Connection, page_at
from tests.support.rows import Page as RowPage

LAST = "conclude"  # rows and files are written when it begins
IDLE_FUNCTIONS = {  # those of each loop, which run without work
    *("Heartbeat.beat", "load_seqs", "renew_leases", "States._note_written", "notified_tenants"),
    *("load_due", "ClockWatch.is_losing"),
    *("Root._keep_own_state", "Queue.mark", "NotedTenants.take"),
}
NOTICE_FUNCTIONS = {  # those of a notification: the last one of an edit may come when the next edit has begun
    *("notified_tenants", "_seq_of", "_is_readable", "Notifications._listen", "Notifications._wake_engine"),
    *("Backoff.reset", "ClockWatch.note_notice", "Engine.notify", "NotedTenants.add_pages"),
}
BEAT_FUNCTIONS = {"_quantile"}  # a beat runs them if something was measured since the one before
TENANT_WORK = "Database.transaction"
PATIENCE_SECONDS = 120.0  # what an idle daemon does comes every five seconds; on a crowded machine later
EDITS = 4  # the smallest figure counts, because other work may fall into an edit
Edit = Callable[["Page", str], None]


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is edited once: the row of a page that was just carried over is looked at once more."""

    app: Connection
    file: Path

    @property
    def path(self) -> str:
        """Below the tenant's directory."""
        return f"Diary/{self.file.name}"

    def has(self, text: str) -> bool:
        """Whether its row and its file end with *text*."""
        page = page_at(self.app, self.path)
        return page is not None and page.markdown == self.file.read_text() and page.markdown.endswith(text)


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced daemon. idle: what it runs without work."""

    mirror: RunningMirror
    trace: CallTrace
    pages: Mapping[Edit, Sequence[Page]]
    idle: Set[Function]

    def functions_of(self, edit: Edit) -> Set[Function]:
        """The functions from *edit*, which is given a new text, to the end of its pass; fewest of some edits."""
        functions = min((frozenset(self.calls_of(edit, page)) - self.idle for page in self.pages[edit]), key=len)
        is_notified = edit in (update_row, update_document)
        others = BEAT_FUNCTIONS if is_notified else BEAT_FUNCTIONS | NOTICE_FUNCTIONS
        return {function for function in functions if function.name not in others}

    def calls_of(self, edit: Edit, page: Page) -> Sequence[Function]:
        """The calls from *edit* of one page to the end of its pass."""
        wait_for_rest(self.mirror)
        start, text = len(self.trace.calls), f"The new text of {page.path}.\n"
        edit(page, text)
        calls = eventually(lambda: self.trace.calls_between(start, LAST), "the pass ends")
        eventually(lambda: page.has(text), "both sides have the text")
        return calls


@pytest.fixture(scope="module")
def traced(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    directory = tmp_path_factory.mktemp("traced")
    config = Config(mirror=directory / "mirror", data=directory / "data", dsn=module_dsn, tenants=("demo",))
    root = config.mirror / "demo"
    files: Mapping[Edit, list[Path]] = {edit: _files_for(edit, root) for edit in EDITS_OF_EACH_KIND}
    for file in (root / "Diary.md", *chain(*files.values()), root / "Other.md"):
        save(file, f"The text of {file.name}.\n")
    with traced_daemon(config) as (daemon, trace):
        mirror = daemon.mirrors["demo"]
        wait_for_rest(mirror)
        idle = _functions_at_rest(trace)
        with closing(psycopg.connect(app_dsn(module_dsn, mirror.opened.sides.tenant), autocommit=True)) as app:
            pages = {edit: [Page(app, file) for file in edited] for edit, edited in files.items()}
            yield Traced(mirror, trace, pages, idle)


def _files_for(edit: Edit, root: Path) -> list[Path]:
    return [root / "Diary" / f"{edit.__name__} {number}.md" for number in range(EDITS)]


def wait_for_rest(mirror: RunningMirror) -> None:
    """Return when nothing waits, documents are derived, and no pass would pause for the one before."""
    pace = mirror.engine.fair_share
    eventually(
        lambda: mirror.idle and mirror.consequences.is_up_to_date and time.monotonic() >= pace.paused_until,
        "the daemon rests",
        PATIENCE_SECONDS,
    )


def _functions_at_rest(trace: CallTrace) -> Set[Function]:
    """Everything that runs until all idle work was seen, while nothing of a tenant is read or written."""
    start = 0

    def has_rested() -> bool:
        nonlocal start
        names = {function.name for function in trace.calls[start:]}
        if TENANT_WORK in names:
            start = len(trace.calls)
        return names >= IDLE_FUNCTIONS and TENANT_WORK not in names

    eventually(has_rested, "all idle work was seen", PATIENCE_SECONDS)
    return frozenset(trace.calls[start:])


def save_file(page: Page, text: str) -> None:
    save_in_place(page.file, text)


def replace_file(page: Page, text: str) -> None:
    save(page.file, text)


def update_row(page: Page, text: str) -> None:
    page.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = %s", [text, page.file.stem])


def update_document(page: Page, text: str) -> None:
    """Add a paragraph to the document of the row, as an editor does."""
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text.rstrip()}]}
    row = eventually(lambda: _row_with_document(page), "the row has its document", PATIENCE_SECONDS)
    assert row.content is not None
    content = {**row.content, "content": [*row.content["content"], paragraph]}
    page.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(content), row.id])


def _row_with_document(page: Page) -> RowPage | None:
    row = page_at(page.app, page.path)
    return row if row is not None and row.content is not None else None


EDITS_OF_EACH_KIND: Sequence[Edit] = (save_file, replace_file, update_row, update_document)


@pytest.mark.parametrize(
    ("edit", "writing", "most_functions", "most_modules"),
    [
        pytest.param(save_file, "write_save", 108, 30, id="save in place"),
        pytest.param(replace_file, "write_save", 108, 30, id="save by rename"),
        pytest.param(update_row, "write_files", 240, 57, id="row"),
        pytest.param(update_document, "write_files", 452, 96, id="document"),
    ],
)
def test_an_edit_of_a_known_page_runs_through_few_functions(
    traced: Traced, edit: Edit, writing: str, most_functions: int, most_modules: int
) -> None:
    functions = traced.functions_of(edit)
    modules = {function.module for function in functions}
    print(f"{edit.__name__}: {len(functions)} functions in {len(modules)} modules")
    assert writing in {function.name for function in functions}
    assert len(functions) <= most_functions, sorted(functions)
    assert len(modules) <= most_modules, sorted(modules)


def test_the_documents_of_a_row_are_parsed_once(traced: Traced) -> None:
    """That is: the one that an app wrote, and the one before; most of the time of a row's edit is theirs."""
    edits = (traced.calls_of(update_document, page) for page in traced.pages[update_document])
    assert min([function.name for function in calls].count("parse_json") for calls in edits) == 2
