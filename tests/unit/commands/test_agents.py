"""Eight agents and a person edit the same pages: whatever was acknowledged is somewhere."""

import multiprocessing
import random
import time
from pathlib import Path

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_commands import read_page, write_page
from mirrord.domain.entry import Actor
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from tests.unit.commands.conftest import TENANT, page

AGENTS, PAGES = 8, 20
SECONDS = 3.0
LEAST = 60  # writes of all agents, and of the person; on a busy machine that takes longer
CODES = {"CONFLICT", "READ_FIRST", "PAGE_NOT_FOUND", "BUSY"}

Acknowledged = tuple[str, str, str]  # page, the text that was read, the text that was written


def _agent(root: str, number: int, results: "multiprocessing.Queue[list[Acknowledged]]") -> None:
    """Reads a page and appends to it, again and again."""
    prepare_process()
    session = Session(Tree(Path(root)), "acme", TENANT, Actor("agent", f"agent-{number}"), f"mcp-{number}")
    acknowledged, chance, end = list[Acknowledged](), random.Random(number), time.monotonic() + SECONDS
    while time.monotonic() < end or len(acknowledged) * AGENTS < LEAST:
        path = f"{chance.randrange(PAGES)}.md"
        try:
            before = read_page(session, path).content
            after = f"{before[-400:]}agent {number}.{len(acknowledged)}\n"
            write_page(session, path, after)
        except Failed as failed:
            if failed.code not in CODES:
                raise
        else:
            acknowledged.append((path, before, after))
    session.close()
    results.put(acknowledged)


def _person(root: str, results: "multiprocessing.Queue[list[Acknowledged]]") -> None:
    """Saves as editors do, without asking, from what was read a moment before: in place, or renamed over."""
    acknowledged, chance, end = list[Acknowledged](), random.Random(99), time.monotonic() + SECONDS
    while time.monotonic() < end or len(acknowledged) < LEAST:
        file = Path(root, f"{chance.randrange(PAGES)}.md")
        before = file.read_text()
        time.sleep(chance.random() / 200)
        after = f"{before[-400:]}person {len(acknowledged)}\n"
        fresh = file.with_suffix(".saving")
        fresh.write_text(after)
        fresh.replace(file)
        acknowledged.append((file.name, before, after))
    results.put(acknowledged)


def test_eight_agents_and_a_person_lose_no_acknowledged_write(root: Path) -> None:
    for number in range(PAGES):
        page(root, f"{number}.md", "begin\n")
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[list[Acknowledged]] = context.Queue()
    agents = [context.Process(target=_agent, args=(str(root), number, results)) for number in range(AGENTS)]
    person = context.Process(target=_person, args=(str(root), results))
    for process in (*agents, person):
        process.start()
    batches = [results.get(timeout=60) for _ in range(AGENTS + 1)]
    for process in (*agents, person):
        process.join(60)

    acknowledged = [write for batch in batches for write in batch if "agent" in write[2].splitlines()[-1]]
    kept_texts = _kept(root)
    lost = [(path, text) for path, _, text in acknowledged if text not in kept_texts]
    assert lost == []
    assert len(acknowledged) >= LEAST
    saves = [(path, text) for batch in batches for path, _, text in batch if "person" in text.splitlines()[-1]]
    assert len(saves) >= LEAST
    last_saves = dict(saves)  # what the person overwrote itself is the person's business
    assert all(text in kept_texts for text in last_saves.values())


def _kept(root: Path) -> set[str]:
    """Every text in a page, in the trash or in a journal."""
    files = [*root.glob("*.md"), *root.glob(".mirrord/trash/*"), *root.glob(".mirrord/tmp/*/*")]
    return {file.read_text() for file in files if file.is_file()}
