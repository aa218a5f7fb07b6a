"""How many transactions and statements one edit takes until the daemon is at rest; nothing here is timed."""

from collections.abc import Callable, Iterator

import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import EntryId
from tests.support.commands import Near
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Page
from tests.support.statement_log import SentStatements, StatementLog, add_paragraph, add_text, list_names

EDITS = 3  # of a page each that was not edited before; the fewest count, because other work may fall into an edit

PATIENCE_SECONDS = 60.0  # for a document on a crowded machine
LOOK_TRANSACTIONS = 2  # the feed, and undos that apps ask for

Edit = Callable[[Mirrord, str, EntryId, str], None]


def edit_file(mirrord: Mirrord, path: str, _entry: EntryId, line: str) -> None:
    file = mirrord.file(path)
    file.write_text(f"{file.read_text()}\n{line}\n")


def edit_text(mirrord: Mirrord, _path: str, entry: EntryId, line: str) -> None:
    add_text(mirrord.app, entry, line)


def edit_document(mirrord: Mirrord, _path: str, entry: EntryId, line: str) -> None:
    add_paragraph(mirrord.app, entry, line)


LIMITS: dict[Edit, tuple[int, int]] = {  # transactions, statements
    edit_file: (3, 18),
    edit_text: (4, 20),
    edit_document: (4, 20),
}


@pytest.fixture(scope="module")
def mirrord(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests, with pages for all edits."""
    with Near(tmp_path_factory.mktemp("statements")) as started:
        (started.root / "Diary").mkdir(parents=True)
        for edit in LIMITS:
            for number in range(EDITS):
                started.file(_path_of(edit, number)).write_text(f"# {edit.__name__} {number}\n\nSee [[Other]].\n")
        started.file("Other.md").write_text("# Other\n\ntext\n")
        started.up()
        yield started


@pytest.mark.parametrize("edit", LIMITS)
def test_a_lone_edit_takes_few_transactions_and_statements(mirrord: Mirrord, edit: Edit) -> None:
    transactions, statements = LIMITS[edit]
    sent = _measure(mirrord, edit)
    assert sent.transactions <= transactions, "\n".join(list_names(sent))
    assert len(sent.statements) <= statements, "\n".join(list_names(sent))


def _measure(mirrord: Mirrord, edit: Edit) -> SentStatements:
    log, results = StatementLog(mirrord), list[SentStatements]()
    for number in range(EDITS):
        path, line = _path_of(edit, number), f"line {number}"
        page = _derived_page(mirrord, path)
        log.sent_until_rest()
        log.forget()
        edit(mirrord, path, EntryId(page.id), line)
        results.append(log.sent_until_rest())
        assert line in (_derived_page(mirrord, path).markdown or "")
        assert line in mirrord.file(path).read_text()
    return min(results, key=lambda sent: (sent.transactions, len(sent.statements)))


def _path_of(edit: Edit, number: int) -> str:
    return f"Diary/{edit.__name__} {number}.md"


def _derived_page(mirrord: Mirrord, path: str) -> Page:
    """The page, once it has its document."""
    return eventually(
        lambda: page if (page := mirrord.page(path)) and page.content and not page.ahead else None,
        f"the document of {path}",
        PATIENCE_SECONDS,
    )


def test_a_look_at_everything_asks_little_of_a_database_without_news(mirrord: Mirrord) -> None:
    log = StatementLog(mirrord)
    log.sent_until_rest()
    log.forget()
    mirrord.flush()
    sent = log.sent_until_rest()
    assert sent.transactions <= LOOK_TRANSACTIONS, "\n".join(list_names(sent))


def test_an_edit_counts_no_tree_while_a_page_is_held(mirrord: Mirrord) -> None:
    mirrord.file("Held.md").write_text("# Held\n\n" + "The boats leave at seven, when the tide is high. " * 6)
    page = _derived_page(mirrord, "Held.md")
    emptied = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "t"}]}]}
    mirrord.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [Jsonb(emptied), page.id])
    eventually(lambda: mirrord.status()["problems"], "the page is held", PATIENCE_SECONDS)
    log = StatementLog(mirrord)
    log.sent_until_rest()
    log.forget()
    edit_file(mirrord, "Other.md", EntryId(page.id), "line")
    sent = log.sent_until_rest()
    assert "line" in (_derived_page(mirrord, "Other.md").markdown or "")
    counts = [statement for statement in sent.statements if "count(*)" in statement and "mirror_base" in statement]
    assert counts == []
