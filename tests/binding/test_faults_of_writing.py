"""Mode `both` under faults: no word of either side is lost or doubled, and both sides end equal."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mirrord.binding.statements.bound_sql import MAX_ROWS
from tests.binding.knowledge_base import (
    NOTES_MAPPING,
    ROLE,
    TWO_WAY_MAPPING,
    BoundWorld,
    KnowledgeBase,
    OutdatedError,
    document_of,
)
from tests.support.entries import value
from tests.support.harness import eventually

TOKEN = re.compile(r"\b(?:app|file)\d+x\d+\b")


@pytest.fixture
def both(world: BoundWorld) -> BoundWorld:
    """A world with a binding in mode `both`; its daemon runs."""
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    return world


def paragraphs_of(app: KnowledgeBase, page: str) -> list[str]:
    """The paragraphs of a page in the app."""
    content = app.block(page)["content"]["content"]
    return ["".join(part["text"] for part in node.get("content", [])) for node in content]


class AppEditor:
    """An editor of the app: it loads a page, adds a word to one paragraph, and saves under the version it loaded."""

    def __init__(self, dsn: str, number: int, pages: list[str]) -> None:
        self.connection = psycopg.connect(make_conninfo(dsn, user=ROLE), autocommit=True)
        self.app = KnowledgeBase(self.connection)
        self.number = number
        self.pages = pages
        self.saved: list[str] = []

    def close(self) -> None:
        """Close its connection."""
        self.connection.close()

    def edit(self, turn: int) -> None:
        """Add one word; a save that is refused is made again from the newer text, as a person would."""
        page, token = self.pages[turn % len(self.pages)], f"app{self.number}x{turn}"
        while True:
            block = self.app.block(page)
            texts = ["".join(part["text"] for part in node.get("content", [])) for node in block["content"]["content"]]
            texts[self.number] += f" {token}"
            try:
                self.app.save(page, *texts, expected=block["version"])
            except OutdatedError:
                continue
            self.saved.append(token)
            return


class FileEditor:
    """A person with a text editor: adds a word to one paragraph of a file, and writes it."""

    def __init__(self, world: BoundWorld, number: int, names: list[str]) -> None:
        self.world = world
        self.number = number
        self.names = names
        self.saved: list[str] = []

    def edit(self, turn: int) -> None:
        """Add one word."""
        token = f"file{self.number}x{turn}"
        path = self.world.mirrord.file(self.names[turn % len(self.names)])
        lines = path.read_text().split("\n")
        index = next(index for index, line in enumerate(lines) if line.startswith(f"part{self.number}"))
        lines[index] += f" {token}"
        path.write_text("\n".join(lines))
        self.saved.append(token)


@contextmanager
def running(edit: Callable[[int], None], enough: threading.Semaphore) -> Iterator[None]:
    """Edit in a thread until the end of the block. enough: released with each edit."""
    stop, failures = threading.Event(), []

    def edit_on() -> None:
        turn = 0
        while not stop.is_set():
            try:
                edit(turn)
            except Exception as error:
                failures.append(error)
                enough.release(1_000)
                return
            turn += 1
            enough.release()

    thread = threading.Thread(target=edit_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert failures == []


def await_edits(enough: threading.Semaphore, count: int) -> None:
    for _ in range(count):
        assert enough.acquire(timeout=60)


def tokens_of_app(world: BoundWorld, pages: list[str]) -> Counter[str]:
    return Counter(TOKEN.findall(json.dumps([world.app.block(page)["content"] for page in pages])))


def await_equal_sides(world: BoundWorld, pages: list[str], names: list[str]) -> None:
    """Return when every paragraph of the app is in its file, and nothing else."""

    def are_equal() -> bool:
        return all(
            (world.mirrord.text(name) or "").split("---\n")[-1].strip().split("\n\n") == paragraphs_of(world.app, page)
            for page, name in zip(pages, names, strict=True)
        )

    world.await_rest()
    eventually(are_equal, "both sides are equal")


def test_editors_of_the_app_lose_nothing_while_pages_are_written_and_the_daemon_is_killed(both: BoundWorld) -> None:
    parts = [f"part{number}" for number in range(4)]
    pages = [both.app.create(f"Page {number}", *parts) for number in range(3)]
    names = [f"Page {number}.md" for number in range(3)]
    for name in names:
        both.await_text(name, "part3")
    enough = threading.Semaphore(0)
    editors = [AppEditor(both.mirrord.dsn or "", number, pages) for number in range(2)]
    with (
        closing(editors[0]),
        closing(editors[1]),
        running(editors[0].edit, enough),
        running(editors[1].edit, enough),
    ):
        for turn in range(4):
            await_edits(enough, 40)
            both.mirrord.kill()
            for number, name in enumerate(names):
                path = both.mirrord.file(name)
                path.write_text(path.read_text().replace("part2", f"part2 file{number}x{turn}"))
            both.mirrord.up()
            for name in names:
                both.await_text(name, f"x{turn}")
    await_equal_sides(both, pages, names)
    conflicts = both.conflicts()
    beside = "".join(path.read_text() for path in both.mirrord.root.glob("*(conflict*.md"))
    saved = [token for editor in editors for token in editor.saved] + [
        f"file{number}x{turn}" for number in range(3) for turn in range(4)
    ]
    counts = tokens_of_app(both, pages)
    assert [token for token in saved if not counts[token] and token not in beside] == []
    assert [token for token, count in counts.items() if count > 1] == []
    assert conflicts == []
    assert both.status()["problems"] == []
    assert both.mirrord.check() == {}


def test_files_and_the_app_are_edited_at_once_and_merged(both: BoundWorld) -> None:
    parts = [f"part{number}" for number in range(4)]
    pages = [both.app.create(f"Page {number}", *parts) for number in range(3)]
    names = [f"Page {number}.md" for number in range(3)]
    for name in names:
        both.await_text(name, "part3")
    enough, permits = threading.Semaphore(0), threading.Semaphore(0)
    editor = AppEditor(both.mirrord.dsn or "", 0, pages)
    person = FileEditor(both, 2, names)

    def edit_when_permitted(turn: int) -> None:
        if permits.acquire(timeout=0.1):
            editor.edit(turn)

    with closing(editor), running(edit_when_permitted, enough):
        for turn in range(15):
            permits.release(10)
            person.edit(turn)
            both.await_body(pages[turn % 3], person.saved[-1])
    await_equal_sides(both, pages, names)
    counts = tokens_of_app(both, pages)
    assert [token for token in editor.saved + person.saved if counts[token] != 1] == []
    assert both.conflicts() == []


@pytest.mark.parametrize(
    "fault",
    [
        "ALTER TABLE kb.blocks DISABLE TRIGGER USER",
        "UPDATE kb.pages SET view_count = view_count + 1",
        "ALTER TABLE kb.pages ADD COLUMN extra integer DEFAULT 7 NOT NULL",
        "ALTER TABLE kb.pages ALTER COLUMN view_count TYPE bigint",
        "UPDATE kb.pages SET icon = 'x'",
    ],
)
def test_an_edit_of_a_file_arrives_beside_what_the_app_does_to_its_tables(both: BoundWorld, fault: str) -> None:
    pages = [both.app.create(f"Page {number}", "Before.") for number in range(5)]
    text = both.await_text("Page 0.md", "Before.")
    both.await_text("Page 4.md", "Before.")
    both.await_rest()
    both.app.connection.execute(fault.encode())
    both.mirrord.file("Page 0.md").write_text(text.replace("Before.", "After."))
    both.await_body(pages[0], "After.")
    both.app.save(pages[1], "Of the app.")
    both.bind("pause", "kb")
    both.bind("resume", "kb")
    both.await_text("Page 1.md", "Of the app.")
    both.await_rest()
    assert both.app.block(pages[0])["content"] == document_of("After.")
    assert both.app.block(pages[0])["version"] == 2


def test_rolled_back_writes_of_the_app_leave_the_edit_of_a_file(both: BoundWorld) -> None:
    page = both.app.create("Page", "One.", "Two.")
    text = both.await_text("Page.md", "Two.")
    with both.app.connection.transaction(force_rollback=True):
        both.app.save(page, "Rolled back.", "Two.")
        both.mirrord.file("Page.md").write_text(text.replace("Two.", "Two, changed."))
        both.mirrord.flush()
    both.await_body(page, "Two, changed.")
    with both.app.connection.transaction():
        with both.app.connection.transaction(force_rollback=True):
            both.app.save(page, "In a savepoint.", "Two, changed.")
        both.app.change(page, icon="1")
    both.await_text("Page.md", "icon:", "One.", "Two, changed.")
    assert paragraphs_of(both.app, page) == ["One.", "Two, changed."]


def test_a_long_transaction_of_the_app_that_commits_is_merged_with_the_file(both: BoundWorld) -> None:
    page = both.app.create("Page", "One.", "Two.")
    text = both.await_text("Page.md", "Two.")
    with both.app.connection.transaction():
        both.app.save(page, "One of the app.", "Two.")
        both.mirrord.file("Page.md").write_text(text.replace("Two.", "Two of a file."))
        both.mirrord.flush()
        other = both.app.create("Other", "O.")
    both.await_text("Other.md", "O.", f"id: {other}")
    both.await_body(page, "One of the app.")
    both.await_body(page, "Two of a file.")
    both.await_text("Page.md", "One of the app.", "Two of a file.")


def test_truncated_tables_halt_the_binding_and_the_edit_stays(both: BoundWorld) -> None:
    for number in range(3):
        both.app.create(f"Page {number}", "P.")
    text = both.await_text("Page 0.md", "P.")
    both.await_text("Page 2.md", "P.")
    both.await_rest()
    both.app.connection.execute("TRUNCATE kb.pages CASCADE")
    both.mirrord.file("Page 0.md").write_text(text.replace("P.", "Edited."))
    both.await_state("halted")
    assert "Edited." in (both.mirrord.text("Page 0.md") or "")
    assert value(both.admin, "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL") == 3


def test_a_killed_daemon_between_two_commits_repeats_nothing(both: BoundWorld) -> None:
    page = both.app.create("Page", "Before.")
    text = both.await_text("Page.md", "Before.")
    for turn in range(5):
        both.mirrord.file("Page.md").write_text(text.replace("Before.", f"Turn {turn}."))
        both.await_body(page, f"Turn {turn}.")
        both.mirrord.kill()
        both.mirrord.up()
        text = both.await_text("Page.md", f"Turn {turn}.").replace(f"Turn {turn}.", "Before.")
    both.await_rest()
    assert both.app.block(page)["version"] == 6
    assert paragraphs_of(both.app, page) == ["Turn 4."]


def test_a_page_without_a_row_for_its_body_is_told(both: BoundWorld) -> None:
    page = both.app.create("Bare", "B.")
    both.await_text("Bare.md", "B.")
    both.app.connection.execute("DELETE FROM kb.blocks WHERE page_id = %s", [page])
    text = eventually(lambda: (both.mirrord.text("Bare.md") or "").replace("B.", "") or None, "the body is gone")
    eventually(lambda: "B." not in (both.mirrord.text("Bare.md") or "B."), "the body is gone")
    both.mirrord.file("Bare.md").write_text(text.rstrip("\n") + "\nNew.\n")
    (problem,) = eventually(lambda: both.status()["problems"], "the missing row is a problem")
    assert "has no row for its body" in problem["sentence"]
    both.mirrord.file("Bare.md").write_text(text.replace("title: Bare", "title: Bald").rstrip("\n") + "\n")
    both.await_column(page, "title", "Bald")


def test_many_pages_that_are_written_at_once_come_in_several_passes(both: BoundWorld) -> None:
    pages = [both.app.create(f"Page {number}", "Before.") for number in range(120)]
    texts = {f"Page {number}.md": both.await_text(f"Page {number}.md", "Before.") for number in range(120)}
    for name, text in texts.items():
        both.mirrord.file(name).write_text(text.replace("Before.", "After."))
    for page in pages:
        both.await_body(page, "After.")
    both.await_rest()
    assert {both.app.block(page)["version"] for page in pages} == {2}


@pytest.mark.parametrize("code", ["KB001", "XX000", "40001", "40P01", "55P03"])
def test_an_error_of_a_trigger_with_any_code_holds_up_its_own_page_alone(both: BoundWorld, code: str) -> None:
    both.app.create("Refused", "no."), both.app.create("Other", "yes.")
    refused, other = both.await_text("Refused.md", "no."), both.await_text("Other.md", "yes.")
    both.app.connection.execute(
        "CREATE FUNCTION kb.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION 'closed for today' USING ERRCODE = '{code}'; END $$".encode()
    )
    both.app.connection.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON kb.blocks FOR EACH ROW "
        "WHEN (NEW.content::text LIKE '%never%') EXECUTE FUNCTION kb.refuse()"
    )
    both.mirrord.file("Refused.md").write_text(refused.replace("no.", "never."))
    both.mirrord.file("Other.md").write_text(other.replace("yes.", "written."))
    page = value(both.admin, "SELECT id FROM kb.pages WHERE title = 'Other'")
    both.await_body(page, "written.")
    assert both.status()["state"] == "running"
    if code in ("KB001", "XX000"):
        (problem,) = eventually(lambda: both.status()["problems"], "the refusal is a problem")
        assert "closed for today" in problem["sentence"]
    both.app.connection.execute("DROP TRIGGER refuse ON kb.blocks")
    both.mirrord.file("Other.md").write_text(other.replace("yes.", "written again."))
    both.await_body(value(both.admin, "SELECT id FROM kb.pages WHERE title = 'Refused'"), "never.")


@pytest.mark.parametrize("code", ["KB001", "XX000", "23514", "42501"])
def test_an_error_at_the_end_of_a_transaction_holds_up_its_own_page_alone(both: BoundWorld, code: str) -> None:
    both.app.create("Refused", "no."), both.app.create("Other", "yes.")
    refused, other = both.await_text("Refused.md", "no."), both.await_text("Other.md", "yes.")
    both.app.connection.execute(
        "CREATE FUNCTION kb.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION 'closed for today' USING ERRCODE = '{code}'; END $$".encode()
    )
    both.app.connection.execute(
        "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON kb.blocks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (NEW.content::text LIKE '%never%') EXECUTE FUNCTION kb.refuse()"
    )
    both.mirrord.file("Refused.md").write_text(refused.replace("no.", "never."))
    (problem,) = eventually(lambda: both.status()["problems"], "the refusal is a problem")
    assert "closed for today" in problem["sentence"]
    both.mirrord.file("Other.md").write_text(other.replace("yes.", "written."))
    both.await_body(value(both.admin, "SELECT id FROM kb.pages WHERE title = 'Other'"), "written.")
    assert both.status()["state"] == "running"
    both.app.connection.execute("DROP TRIGGER refuse ON kb.blocks")
    both.mirrord.file("Other.md").write_text(other.replace("yes.", "written again."))
    both.await_body(value(both.admin, "SELECT id FROM kb.pages WHERE title = 'Refused'"), "never.")


def test_a_trigger_that_ends_statements_holds_up_its_own_binding_alone(both: BoundWorld) -> None:
    both.app.connection.execute("CREATE TABLE kb.notes (id text PRIMARY KEY, title text NOT NULL, body text)")
    both.mapping.write_text(NOTES_MAPPING)
    both.bind("add", str(both.mapping))
    both.app.create("Page", "one.")
    text = both.await_text("Page.md", "one.")
    both.app.connection.execute(
        "CREATE FUNCTION kb.cancel() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'over' USING ERRCODE = '57014'; END $$"
    )
    both.app.connection.execute(
        "CREATE TRIGGER cancel BEFORE UPDATE ON kb.blocks FOR EACH ROW EXECUTE FUNCTION kb.cancel()"
    )
    both.mirrord.file("Page.md").write_text(text.replace("one.", "two."))
    for number in range(5):  # in each order in which the daemon may look at its bindings
        both.app.connection.execute("INSERT INTO kb.notes VALUES (%s, %s, 'noted')", (str(number), f"Note {number}"))
        both.await_text(f"Note {number}.md", "noted")
    problems = eventually(lambda: both.status()["problems"], "the binding waits", 60)
    assert "over" in problems[0]["sentence"]
    both.app.connection.execute("DROP TRIGGER cancel ON kb.blocks")
    both.await_body(value(both.admin, "SELECT id FROM kb.pages WHERE title = 'Page'"), "two.")
    eventually(lambda: not both.status()["problems"], "the wait is over")


@pytest.mark.parametrize("is_killed", [False, True], ids=["", "and the daemon is killed"])
def test_a_file_that_is_deleted_while_a_new_mirror_writes_others_is_deleted_in_the_app(
    world: BoundWorld, is_killed: bool
) -> None:
    with world.app.connection.transaction():
        pages = {f"Page {number:03}.md": world.app.create(f"Page {number:03}", "Text.") for number in range(MAX_ROWS)}
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.start()
    first = "SELECT min(path) FROM mirrord.mirror_base"
    path = eventually(lambda: value(world.admin, first), "the first file is written and recorded", 60, pause=0.01)
    if is_killed:
        world.mirrord.kill()
    world.mirrord.file(path).unlink()
    if is_killed:
        world.mirrord.start()
    deleted = pages.pop(path)
    eventually(lambda: world.app.page(deleted)["deleted_at"] is not None, "the page is in the app's trash", 60)
    for other in pages:
        world.await_text(other, "Text.")
    world.await_rest()
    assert world.mirrord.text(path) is None
    assert [page for page in pages.values() if world.app.page(page)["deleted_at"] is not None] == []
