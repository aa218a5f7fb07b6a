"""Triggers and programs that change each other's text for ever: the page is stopped, and nobody else waits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection, page_at

MOST_VERSIONS = 60  # of a page that is stopped after 20 moves; without a stop there are thousands

ALTERNATING = """
CASE WHEN NEW.markdown LIKE '%* one%' THEN replace(NEW.markdown, '* one', '- one')
     ELSE replace(NEW.markdown, '- one', '* one') END"""
STAMPING = "regexp_replace(NEW.markdown, '(Stamped .*)?$', 'Stamped ' || clock_timestamp())"

TRIGGER = """
CREATE FUNCTION public.answer() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF pg_trigger_depth() = 1 THEN
        UPDATE mirrord.page SET markdown = {text} WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER answer AFTER UPDATE OF markdown, digest ON mirrord.page FOR EACH ROW WHEN (NEW.name = 'Loop')
    EXECUTE FUNCTION public.answer()"""


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, tenant="livelocks", dsn=fresh_dsn) as started:
        started.up()
        save(started.file("Loop.md"), "# Loop\n\n* one\n")
        save(started.file("Other.md"), "Another page.\n")
        save(started.file("Old.md"), "To be deleted.\n")
        started.flush()
        yield started


def execute(mirrord: Mirrord, statement: str) -> None:
    assert mirrord.dsn is not None
    with psycopg.connect(mirrord.dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


def problem(mirrord: Mirrord) -> str | None:
    """What is listed of the page."""
    sentence: str | None = value(mirrord.app, "SELECT sentence FROM mirrord.problem WHERE code = 'livelock'")
    return sentence


def version(mirrord: Mirrord) -> int:
    page = mirrord.page("Loop")
    assert page is not None
    return page.version


def is_stopped(mirrord: Mirrord) -> None:
    """The page is listed with its moves, makes no more versions, and nobody waits for it."""
    sentence = eventually(lambda: problem(mirrord), "the page to be stopped")
    assert "'Loop.md'" in sentence
    assert "row → file (version " in sentence
    assert "mirrord check --fix" in sentence
    mirrord.flush(20)
    before = version(mirrord)
    assert before < MOST_VERSIONS
    save(mirrord.file("Other.md"), "Another page, edited.\n")
    mirrord.file("Old.md").unlink()
    eventually(lambda: mirrord.page("Old") is None, "the deletion in its row")
    mirrord.flush(20)
    other = mirrord.page("Other")
    assert other is not None
    assert other.markdown == "Another page, edited.\n"
    assert version(mirrord) == before
    assert problem(mirrord) == sentence
    assert "'Loop.md' moved more than 20 times" in " ".join(mirrord.run("status").stdout.split())


def is_equal(mirrord: Mirrord) -> bool:
    mirrord.flush()
    page = mirrord.page("Loop")
    return page is not None and page.markdown == mirrord.text("Loop.md") and problem(mirrord) is None


def is_in_file(mirrord: Mirrord, text: str) -> bool:
    return mirrord.text("Loop.md") == text


@pytest.mark.parametrize("text", [ALTERNATING, STAMPING], ids=["alternates", "stamps"])
def test_a_page_whose_trigger_answers_every_write_is_stopped(mirrord: Mirrord, text: str) -> None:
    execute(mirrord, TRIGGER.format(text=text))
    save(mirrord.file("Loop.md"), "# Loop\n\n* one\n* two\n")
    is_stopped(mirrord)

    execute(mirrord, "DROP TRIGGER answer ON mirrord.page")
    save(mirrord.file("Loop.md"), "# Loop\n\nA new text.\n")
    eventually(lambda: is_equal(mirrord), "the page to go on with a new text")
    assert any("A new text." in file.read_text() for file in mirrord.root.glob("Loop*.md"))  # the page, or a conflict


@pytest.mark.parametrize("how", ["check --fix", "restart", "row"])
def test_a_stopped_page_goes_on(mirrord: Mirrord, how: str) -> None:
    execute(mirrord, TRIGGER.format(text=ALTERNATING))
    save(mirrord.file("Loop.md"), "# Loop\n\n* one\n* two\n")
    eventually(lambda: problem(mirrord), "the page to be stopped")
    execute(mirrord, "DROP TRIGGER answer ON mirrord.page")
    mirrord.flush()
    assert problem(mirrord) is not None
    if how == "row":
        mirrord.app.execute("UPDATE mirrord.page SET markdown = '# Loop, by an app' WHERE name = 'Loop'")
    elif how == "restart":
        mirrord.restart()
    else:
        mirrord.run("check", "--fix")
    eventually(lambda: is_equal(mirrord), "the page to go on")


@contextmanager
def formatters(mirrord: Mirrord) -> Iterator[None]:
    """One program keeps stars in the file, another keeps dashes in the row."""
    stopped = Event()

    def format_file() -> None:
        while not stopped.wait(0.002):
            text = mirrord.text("Loop.md") or ""
            if "- one" in text:
                save(mirrord.file("Loop.md"), text.replace("- one", "* one"))

    def format_row(app: Connection) -> None:
        while not stopped.wait(0.002):
            page = page_at(app, "Loop")
            if page is not None and "* one" in (page.markdown or ""):
                text = page.markdown.replace("* one", "- one") if page.markdown else ""
                app.execute("UPDATE mirrord.page SET markdown = %s WHERE id = %s", [text, page.id])

    with psycopg.connect(mirrord.app_dsn, autocommit=True) as app:
        threads = [Thread(target=format_file), Thread(target=format_row, args=[app])]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            for thread in threads:
                thread.join()


def test_two_programs_that_format_each_others_text_are_stopped(mirrord: Mirrord) -> None:
    with formatters(mirrord):
        is_stopped(mirrord)


def test_an_app_that_goes_back_and_forth_between_two_texts_is_carried_over(mirrord: Mirrord) -> None:
    texts = ["# Loop\n\nIt is off.\n", "# Loop\n\nIt is on.\n"]
    for number in range(120):
        mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = 'Loop'", [texts[number % 2]])
        eventually(partial(is_in_file, mirrord, texts[number % 2]), "the text in the file")
    mirrord.flush()
    assert problem(mirrord) is None


def test_an_editor_that_goes_back_and_forth_between_two_texts_is_carried_over(mirrord: Mirrord) -> None:
    texts = ["# Loop\n\nIt is off.\n", "# Loop\n\nIt is on.\n"]
    began = time.monotonic()
    for number in range(200):
        save(mirrord.file("Loop.md"), texts[number % 2])
        time.sleep(max(0.0, began + (number + 1) / 70 - time.monotonic()))  # the editor's own pace
    mirrord.flush()
    assert is_equal(mirrord)
    assert problem(mirrord) is None
