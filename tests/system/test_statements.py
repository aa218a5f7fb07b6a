"""How many transactions and statements one edit takes until the daemon is at rest; nothing here is timed."""

from collections.abc import Callable, Iterator

import pytest

from mirrord.domain.entry import EntryId
from tests.support.commands import Near
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Page
from tests.support.statement_log import SentStatements, StatementLog, add_paragraph, add_text, list_names

PATH = "Diary/Note.md"
EDITS = 2  # the fewest count, because other work may fall into an edit

Measure = Callable[[Callable[[Mirrord, EntryId, str], None]], SentStatements]


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measure]:
    """The statements of an edit on one daemon for all tests."""
    with Near(tmp_path_factory.mktemp("statements")) as mirrord:
        mirrord.file(PATH).parent.mkdir(parents=True)
        mirrord.file(PATH).write_text("# Note\n\nSee [[Other]].\n")
        mirrord.file("Other.md").write_text("# Other\n\ntext\n")
        mirrord.up()
        yield lambda edit: _measure(mirrord, edit)


def _measure(mirrord: Mirrord, edit: Callable[[Mirrord, EntryId, str], None]) -> SentStatements:
    log, entry = StatementLog(mirrord), EntryId(_derived_page(mirrord).id)
    results = []
    for number in range(EDITS):
        log.sent_until_rest()
        log.forget()
        edit(mirrord, entry, f"{edit.__name__} {number}")
        results.append(log.sent_until_rest())
    page = _derived_page(mirrord)
    assert page.markdown == mirrord.file(PATH).read_text()
    assert f"{edit.__name__} {EDITS - 1}" in (page.markdown or "")
    return min(results, key=lambda sent: (sent.transactions, len(sent.statements)))


def _derived_page(mirrord: Mirrord) -> Page:
    """The page, once it has its document."""
    return eventually(
        lambda: page if (page := mirrord.page(PATH)) and page.content and not page.ahead else None, "a document"
    )


def edit_file(mirrord: Mirrord, _entry: EntryId, line: str) -> None:
    file = mirrord.file(PATH)
    file.write_text(f"{file.read_text()}\n{line}\n")


def edit_text(mirrord: Mirrord, entry: EntryId, line: str) -> None:
    add_text(mirrord.app, entry, line)


def edit_document(mirrord: Mirrord, entry: EntryId, line: str) -> None:
    add_paragraph(mirrord.app, entry, line)


@pytest.mark.parametrize(
    ("edit", "transactions", "statements"), [(edit_file, 11, 80), (edit_text, 12, 88), (edit_document, 11, 80)]
)
def test_a_lone_edit_takes_few_transactions_and_statements(
    measure: Measure, edit: Callable[[Mirrord, EntryId, str], None], transactions: int, statements: int
) -> None:
    sent = measure(edit)
    assert sent.transactions <= transactions, "\n".join(list_names(sent))
    assert len(sent.statements) <= statements, "\n".join(list_names(sent))
