"""A file is edited and renamed while an app holds a lock on its row: it stays one page, whatever comes first."""

import pytest

from tests.support.entries import change
from tests.support.mirrors import Mirror

TEXT = "# The plan\n\nWe sow in spring.\n"
EDITED = TEXT + "\nAnd we water in summer.\n"
ROUNDS = 3  # of work while the row is locked; each waits for the lock


@pytest.mark.parametrize(
    "acts", ["er", "re", "r", "ee r", "e r", "r e", "e r e"], ids=lambda acts: acts.replace(" ", "_")
)
@pytest.mark.parametrize("column", ["markdown", "title"])
async def test_it_stays_one_page(mirror: Mirror, column: str, acts: str) -> None:
    """acts: e: the file is edited in place, r: it is renamed; a blank: mirrord works."""
    mirror.write({"Shelf/First.md": TEXT, "Shelf/Other.md": "Another page.\n"})
    await mirror.settle()
    page = mirror.page("Shelf/First")
    path, text = "Shelf/First.md", TEXT
    with mirror.app.transaction():
        change(mirror.app, page.id, **{column: f"An app's words.\n\n{TEXT}" if column == "markdown" else "q0"})
        for act in f"{acts} ":
            if act == "e":
                text += "\nAnd we water in summer.\n"
                (mirror.root / path).write_text(text)
            elif act == "r":
                mirror.rename((path, "Shelf/beta.md"))
                path = "Shelf/beta.md"
            else:
                mirror.engine.request_scan()
                for _ in range(ROUNDS):
                    await mirror.work()
    await mirror.settle()
    assert sorted(mirror.files()) == ["Shelf/Other.md", "Shelf/beta.md"]
    assert mirror.page("Shelf/beta").id == page.id
