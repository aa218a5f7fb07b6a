"""Many files with one text: where they vanish together, none of them counts as a copy that another one left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import look_everywhere

MANY = 150
FOLDER, TEXT = "Notes", "one text\n"


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path / "installation", dsn=fresh_dsn) as installed:
        installed.root.mkdir(parents=True, exist_ok=True)
        installed.up()
        yield installed


def _count_living(mirrord: Mirrord) -> int:
    row = mirrord.app.execute(
        "SELECT count(*) FROM mirrord.page WHERE markdown = %s AND deleted_at IS NULL", [TEXT]
    ).fetchone()
    assert row is not None
    return int(row[0])


def _decide_open_halts(mirrord: Mirrord, decision: str) -> int:
    halts = mirrord.app.execute("SELECT id FROM mirrord.halt WHERE closed_at IS NULL AND decision IS NULL").fetchall()
    for (number,) in halts:
        mirrord.app.execute("SELECT mirrord.decide_halt(%s, %s)", (number, decision))
    return len(halts)


@pytest.mark.parametrize("name", ["Note {}.md", "Folder {}/Note.md"])
@pytest.mark.parametrize("way", ["folder moved away", "files removed one by one"])
def test_files_with_one_text_that_vanish_together_all_come_back(mirrord: Mirrord, way: str, name: str) -> None:
    files = [mirrord.file(f"{FOLDER}/{name.format(number)}") for number in range(MANY)]
    for file in files:
        save(file, TEXT)
    eventually(lambda: _count_living(mirrord) == MANY, "a row of each file", 60.0)
    look_everywhere(mirrord)
    if way == "folder moved away":
        mirrord.file(FOLDER).rename(mirrord.root.parent / "aside")
    else:
        for file in files:
            file.unlink()
    eventually(lambda: _decide_open_halts(mirrord, "discard"), "a halt", 60.0)

    def is_back() -> bool:
        _decide_open_halts(mirrord, "discard")  # what vanished late has a halt of its own
        return all(file.exists() for file in files)

    eventually(is_back, "every file again", 60.0)
    look_everywhere(mirrord)
    assert _count_living(mirrord) == MANY
