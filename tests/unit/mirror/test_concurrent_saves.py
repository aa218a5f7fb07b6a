import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from mirrord.domain.entry import digest_of, new_id
from mirrord.errors import Busy, Refused, Stale
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import replace
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.replace import DisplacedSave

SAVES = 250
ENTRY = new_id()


def truncate_and_write(page: Path, data: bytes) -> None:
    with page.open("wb", buffering=0) as stream:
        stream.write(data[:3])
        stream.write(data[3:])


def write_and_rename(page: Path, data: bytes) -> None:
    beside = page.with_suffix(".new")
    beside.write_bytes(data)
    beside.rename(page)


class Editor(threading.Thread):
    """Saves again as soon as the save before was seen, so that no save is overwritten by its own program."""

    def __init__(self, page: Path, save: Callable[[Path, bytes], None]) -> None:
        super().__init__(daemon=True)
        self.page = page
        self.save = save
        self.seen: set[bytes] = set()
        self.changed = threading.Condition()
        self.lost: bytes | None = None

    def run(self) -> None:
        for number in range(SAVES):
            data = f"save {number}".encode()
            self.save(self.page, data)
            with self.changed:
                if not self.changed.wait_for(partial(self.seen.__contains__, data), timeout=60):
                    self.lost = data
                    return

    def saw(self, data: bytes) -> None:
        with self.changed:
            self.seen.add(data)
            self.changed.notify()


@pytest.mark.parametrize("save", [truncate_and_write, write_and_rename])
@pytest.mark.parametrize("act", ["replace", "remove"])
def test_no_save_is_lost(
    tree: Tree, journal: Journal, root: Path, act: str, save: Callable[[Path, bytes], None]
) -> None:
    editor = Editor(root / "A.md", save)
    editor.start()
    number = 0
    while editor.is_alive():
        number += 1
        with suppress(Busy, Stale, FileNotFoundError, Refused):
            data, _ = tree.read("A.md", 1 << 20)
            editor.saw(data)
            _take(journal, editor, _perform(act, tree, journal, data, f"ours {number}".encode()))

    assert editor.lost is None
    assert len(editor.seen) >= SAVES
    assert journal.leftovers() == []


def _perform(act: str, tree: Tree, journal: Journal, over: bytes, data: bytes) -> DisplacedSave | None:
    expected = digest_of(over)
    if act == "remove":
        return replace.remove(tree, journal, "A.md", replace.ExpectedFile(ENTRY, expected), replace.Removal("test"))
    return replace.write(tree, journal, "A.md", data, replace.ExpectedFile(ENTRY, expected)).displaced


def _take(journal: Journal, editor: Editor, displaced: DisplacedSave | None) -> None:
    if displaced is None:
        return
    assert displaced.data is not None
    editor.saw(displaced.data)
    journal.dispose(displaced.name, keep=True)
