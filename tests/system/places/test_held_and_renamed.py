"""A file is renamed while another program has it open for writing, and an app changes its row at the same moment."""

import pytest

from tests.support.entries import change
from tests.support.mirrors import Mirror

ROUNDS = 60  # of work while the file is held
TEXT = "# The plan\n\nWe sow in spring.\n"


@pytest.mark.parametrize("column", ["name", "markdown", "title"])
@pytest.mark.parametrize("writes", [True, False], ids=["written", "untouched"])
@pytest.mark.parametrize("old", ["p0", "a0"], ids=["new_path_first", "old_path_first"])
async def test_it_stays_one_page(mirror: Mirror, column: str, writes: bool, old: str) -> None:
    mirror.write({f"{old}.md": TEXT})
    await mirror.settle()
    page = mirror.page(old)
    with (mirror.root / f"{old}.md").open("r+b") as stream:
        mirror.rename((f"{old}.md", "n0.md"))
        change(mirror.app, page.id, **{column: f"An app's words.\n\n{TEXT}" if column == "markdown" else "q0"})
        mirror.engine.request_scan()
        mirror.engine.notify()
        for _ in range(ROUNDS):
            await mirror.work()
        if writes:
            stream.seek(0, 2)
            stream.write(b"\nThe program's words.\n")
    await mirror.settle()
    assert mirror.count_living() == 1, mirror.files()
    (path,) = mirror.files()
    assert mirror.page(path.removesuffix(".md")).id == page.id
