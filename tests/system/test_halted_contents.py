"""Many documents that leave nothing of their pages halt the app's side of a tenant, until a person decides."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.db import open_issues
from mirrord.sync import held_contents, passes
from mirrord.sync.engine import Engine
from tests.support.commands import Near
from tests.support.entries import change, history, row_of, value
from tests.support.harness import Mirrord, eventually
from tests.support.mirrors import Mirror

PAGES, OTHERS = 33, 4
AUTOSAVED = 50  # pages that an editor empties one after the other
TEXT = (
    f"# Harbour\n\n{'The boats leave at seven, when the tide is high. ' * 6}\n\nSee [[Boats]], [[Tides]], [[Quay]].\n"
)
SHORT = "The ferry waits for [[Boats]].\n"
EMPTIED = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "t"}]}]}


def names(first: int = 0, last: int = PAGES) -> list[str]:
    return [f"Page {number:02}" for number in range(first, last)]


@pytest.fixture
async def filled(mirror: Mirror) -> Mirror:
    """A mirror with many pages and a few that no app writes."""
    mirror.write({f"{name}.md": TEXT for name in names()})
    mirror.write({f"Other {number}.md": f"{number}\n" for number in range(OTHERS)})
    await mirror.settle()
    return mirror


@pytest.fixture
async def halted(filled: Mirror) -> Mirror:
    """A mirror of which an app's autosave emptied every page that it showed."""
    await empty(filled, names())
    return filled


async def empty(mirror: Mirror, pages: list[str]) -> None:
    """Write what an editor writes that shows *pages* as empty, at the first key in each."""
    for name in pages:
        change(mirror.app, mirror.page(name).id, content=Jsonb(EMPTIED))
    await mirror.settle()


def halts(mirror: Mirror) -> list[tuple[str, str, list[UUID]]]:
    """Reason, sentence and entries of the halts that stand."""
    query = "SELECT reason, sentence, entries FROM mirrord.halt WHERE closed_at IS NULL ORDER BY id"
    return mirror.app.execute(query).fetchall()


def decide(mirror: Mirror, verdict: str) -> None:
    mirror.app.execute("SELECT mirrord.decide_halt(id, %s) FROM mirrord.halt WHERE closed_at IS NULL", [verdict])


async def work_until_no_halt(mirror: Mirror) -> None:
    async with asyncio.timeout(60):
        while halts(mirror):
            await mirror.work()
    await mirror.settle()


async def test_an_autosave_over_many_pages_halts_and_no_file_changes(halted: Mirror) -> None:
    [(reason, sentence, entries)] = halts(halted)
    assert reason == "mass-content-lost"
    assert sentence.startswith(f"{PAGES} of {PAGES + OTHERS} entries are held, because an app wrote documents that")
    assert "They are 'Page 00.md', 'Page 01.md', 'Page 02.md' and 30 more. `mirrord halts` shows it" in sentence
    assert set(entries) == set(halted.ids(*names()))
    assert {halted.files()[f"{name}.md"] for name in names()} == {TEXT}
    rows = [row_of(halted.app, page) for page in entries]
    assert all((row["content"], row["markdown"], row["ahead"]) == (EMPTIED, TEXT, ["content"]) for row in rows)


async def test_up_to_the_number_of_the_guard_each_page_waits_for_itself(filled: Mirror) -> None:
    await empty(filled, names(last=25))
    assert halts(filled) == []
    assert len(filled.problems()) == 25
    await empty(filled, names(25, 26))
    [(_, sentence, entries)] = halts(filled)
    assert len(entries) == 26
    assert sentence.startswith("26 of ")


async def test_further_pages_join_the_halt(filled: Mirror) -> None:
    await empty(filled, names(last=30))
    await empty(filled, names(30, 33))
    [(_, sentence, entries)] = halts(filled)
    assert set(entries) == set(filled.ids(*names(last=33)))
    assert sentence.startswith("33 of ")
    assert "and 30 more" in sentence


async def test_what_was_meant_is_in_the_files_once_it_is_applied(halted: Mirror) -> None:
    decide(halted, "apply")
    await work_until_no_halt(halted)
    assert {halted.files()[f"{name}.md"] for name in names()} == {"t\n"}
    assert halted.problems() == {}
    assert {text for name, text in halted.rows().items() if name.startswith("Page")} == {"t\n"}


async def test_what_was_no_intention_is_gone_from_the_rows_once_it_is_discarded(halted: Mirror) -> None:
    page = halted.page("Page 07").id
    decide(halted, "discard")
    await work_until_no_halt(halted)
    row = row_of(halted.app, page)
    assert (row["markdown"], row["ahead"], row["content"]) == (TEXT, [], None)
    assert {halted.files()[f"{name}.md"] for name in names()} == {TEXT}
    assert halted.problems() == {}
    assert [version["views"] for version in history(halted.app, page)][-2:] == [{"content": EMPTIED}, None]
    change(halted.app, page, markdown="next\n")
    await halted.settle()
    assert halted.files()["Page 07.md"] == "next\n"


async def test_a_page_that_its_app_mends_meanwhile_is_left_by_a_decision(halted: Mirror) -> None:
    mended, deleted = halted.page("Page 07").id, halted.page("Page 08").id
    change(halted.app, mended, markdown="mended\n")
    await halted.settle()
    change(halted.app, deleted, deleted_at=datetime.now(UTC))
    decide(halted, "discard")
    await work_until_no_halt(halted)
    assert halted.files()["Page 07.md"] == "mended\n"
    assert row_of(halted.app, deleted)["deleted_at"] is not None


async def test_a_row_that_changed_just_before_a_decision_is_carried_out_keeps_what_it_has(halted: Mirror) -> None:
    mended, deleted = halted.page("Page 07").id, halted.page("Page 08").id
    async with halted.opened.sides.database.transaction(halted.opened.sides.tenant) as connection:
        [halt] = await open_issues.load_halts(connection, halted.opened.sides.tenant)
    change(halted.app, mended, markdown="mended\n")
    change(halted.app, deleted, deleted_at=datetime.now(UTC))
    for decision in ("discard", "apply"):
        await held_contents.carry_out_content_halt(halted.engine.parts, replace(halt, decision=decision))
        row = row_of(halted.app, mended)
        assert (row["markdown"], row["version"], row["confirmed"]) == ("mended\n", 3, None)
        assert row_of(halted.app, deleted)["deleted_at"] is not None


async def test_the_halt_ends_when_no_page_is_held_any_more(halted: Mirror) -> None:
    for name in names():
        halted.app.execute("SELECT mirrord.confirm_content(%s)", [halted.page(name).id])
    await halted.settle()
    await work_until_no_halt(halted)
    assert {halted.files()[f"{name}.md"] for name in names()} == {"t\n"}
    assert value(halted.app, "SELECT count(*) FROM mirrord.halt WHERE decision IS NULL") == 1


async def test_short_pages_and_single_nodes_are_held_only_while_the_app_is_halted(filled: Mirror) -> None:
    filled.write({f"Short {number}.md": SHORT for number in range(2)})
    await filled.settle()
    await empty(filled, ["Short 0"])
    assert filled.files()["Short 0.md"] == "t\n"
    await empty(filled, names())
    await empty(filled, ["Short 1"])
    assert filled.files()["Short 1.md"] == SHORT
    [(_, _, entries)] = halts(filled)
    assert filled.page("Short 1").id in entries
    decide(filled, "discard")
    await work_until_no_halt(filled)
    await empty(filled, ["Short 1"])
    assert filled.files()["Short 1.md"] == "t\n"


async def test_other_edits_and_deletions_of_files_go_on_while_deletions_of_the_app_wait(halted: Mirror) -> None:
    change(halted.app, halted.page("Other 0").id, markdown="edited\n")
    (halted.root / "Other 1.md").unlink()
    change(halted.app, halted.page("Other 2").id, deleted_at=datetime.now(UTC))
    await halted.settle()
    await halted.settle()
    files = halted.files()
    assert files["Other 0.md"] == "edited\n"
    assert "Other 1" not in halted.rows()
    assert files["Other 2.md"] == "2\n"
    assert [reason for reason, _, _ in halts(halted)] == ["mass-content-lost", "halted"]


async def test_a_page_is_edited_as_a_file_while_it_waits_and_is_discarded(halted: Mirror) -> None:
    halted.write({"Page 07.md": TEXT.replace("seven", "eight")})
    await halted.settle()
    decide(halted, "discard")
    await work_until_no_halt(halted)
    texts = [text for path, text in halted.files().items() if path.startswith("Page 07")]
    assert any(text.endswith(TEXT.replace("seven", "eight")) for text in texts), texts


@pytest.mark.parametrize("verdict", ["apply", "discard"])
async def test_a_row_that_a_trigger_refuses_waits_without_the_others(
    halted: Mirror, admin_dsn: str, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    monkeypatch.setattr(passes, "FAILED_RETRY_SECONDS", 0.2)
    page = halted.page("Page 07").id
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION public.refuse_07() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN IF NEW.id = '{page}' THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$"
        )
        admin.execute(
            "CREATE TRIGGER refuse_07 BEFORE UPDATE ON mirrord.page FOR EACH ROW EXECUTE FUNCTION refuse_07()"
        )
        try:
            decide(halted, verdict)
            async with asyncio.timeout(60):
                while len(halted.problems()) > 2 or not any(code == "trigger" for _, code in halted.problems()):
                    await halted.work()
            assert halted.files()["Page 07.md"] == TEXT
            assert len(halts(halted)) == 1
        finally:
            admin.execute("DROP TRIGGER refuse_07 ON mirrord.page; DROP FUNCTION public.refuse_07()")
    await work_until_no_halt(halted)
    assert {halted.files()[f"{name}.md"] for name in names()} == {"t\n" if verdict == "apply" else TEXT}
    assert halted.problems() == {}


@pytest.mark.parametrize("verdict", ["apply", "discard"])
async def test_a_decision_is_carried_out_by_the_next_engine_when_one_ends_in_the_middle(
    halted: Mirror, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    monkeypatch.setattr(held_contents, "MAX_PAGES_A_ROUND", 7)
    decide(halted, verdict)
    while len(halted.problems()) == PAGES:
        await halted.work()
    assert 0 < len(halted.problems()) < PAGES
    assert len(halts(halted)) == 1
    halted.engine = Engine(halted.opened.sides, is_adopting=False)
    await halted.engine.start()
    await work_until_no_halt(halted)
    assert {halted.files()[f"{name}.md"] for name in names()} == {"t\n" if verdict == "apply" else TEXT}
    assert halted.problems() == {}


async def test_a_halt_stands_after_a_restart_and_is_not_doubled(halted: Mirror) -> None:
    halted.engine = Engine(halted.opened.sides, is_adopting=False)
    await halted.engine.start()
    await halted.settle()
    [(_, _, entries)] = halts(halted)
    assert len(entries) == PAGES
    assert halted.files()["Page 00.md"] == TEXT


@pytest.fixture(scope="module")
def daemon(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """A daemon for the commands."""
    with Near(tmp_path_factory.mktemp("halted"), tenant="halted-contents", dsn=admin_dsn) as started:
        started.up()
        yield started


def listed_halts(daemon: Mirrord) -> list[dict[str, Any]]:
    listing = daemon.run("halts", "--json", "--tenant", daemon.tenant)
    assert listing.returncode == 0, listing.stderr
    halt_facts: list[dict[str, Any]] = json.loads(listing.stdout)
    return halt_facts


@pytest.mark.parametrize("choice", ["apply", "discard"])
def test_after_an_autosave_over_fifty_pages_the_commands_of_halts_go_on(daemon: Mirrord, choice: str) -> None:
    directory = uuid4().hex[:8]
    paths = [f"{directory}/{name}.md" for name in names(last=AUTOSAVED)]
    for path in paths:
        file = Path(daemon.file(path))
        file.parent.mkdir(exist_ok=True)
        file.write_text(TEXT, encoding="utf-8")
    for path in paths:
        eventually(lambda path=path: (row := daemon.page(path)) and row.content, f"the document of {path}")  # type: ignore[misc]
    for path in paths:
        change(daemon.app, daemon.page(path).id, content=Jsonb(EMPTIED))  # type: ignore[union-attr]
    [halt] = eventually(
        lambda: [each for each in listed_halts(daemon) if each["entries"] == AUTOSAVED], "the halt with every page"
    )
    assert (halt["paths"], halt["side"]) == (sorted(paths), "content")
    assert "pages become what the app wrote" in halt["apply"]
    assert "rows get the text of their files again" in halt["discard"]
    assert "halted" in daemon.run("status", "--tenant", daemon.tenant).stdout

    decided = daemon.run("resume", str(halt["id"]), f"--{choice}", "--tenant", daemon.tenant)

    assert decided.returncode == 0, decided.stderr
    expected = "t\n" if choice == "apply" else TEXT
    eventually(lambda: listed_halts(daemon) == [], "the halt to be closed")
    for path in paths:
        eventually(lambda path=path: daemon.text(path) == expected, f"{path} as it was decided")  # type: ignore[misc]
        eventually(
            lambda path=path: daemon.page(path).markdown == expected,  # type: ignore[misc, union-attr]
            f"the row of {path} as it was decided",
        )
    assert value(daemon.app, "SELECT count(*) FROM mirrord.problem WHERE path LIKE %s", f"{directory}/%") == 0
