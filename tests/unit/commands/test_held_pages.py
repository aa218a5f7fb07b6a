"""A page that some program has open for writing can be read, and not be written."""

import os
import threading
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import read_page, write_page
from tests.unit.commands.conftest import page


def test_a_page_that_is_held_open_is_shown_as_it_is_and_written_by_nobody_else(root: Path, session: Session) -> None:
    with page(root, "Alpha.md", "# Alpha\n").open("a") as stream:
        page_read = read_page(session, "Alpha")
        assert page_read.content == "# Alpha\n"
        stream.write("more\n")
        stream.flush()
        page_read = read_page(session, "Alpha")
        assert page_read.content == "# Alpha\nmore\n"
        for refused in (
            lambda: write_page(session, "Alpha", "x", expected_digest=page_read.digest),
            lambda: edit_page(session, "Alpha", [{"find": "more", "replace": "less"}]),
            lambda: move_page(session, "Alpha", "Beta"),
            lambda: delete_page(session, "Alpha"),
        ):
            with pytest.raises(Failed) as caught:
                refused()
            assert caught.value.code == "BUSY"
    write_page(session, "Alpha", "x", expected_digest=page_read.digest)
    assert (root / "Alpha.md").read_text() == "x"


def test_a_page_that_changes_from_look_to_look_is_busy(root: Path, session: Session) -> None:
    file, stop = page(root, "Alpha.md", "# Alpha\n"), threading.Event()
    with file.open("r+b", buffering=0) as stream:

        def write() -> None:
            while not stop.wait(0.005):
                os.pwrite(stream.fileno(), os.urandom(8), 0)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with pytest.raises(Failed, match=r"being written|changed while") as caught:
                read_page(session, "Alpha")
        finally:
            stop.set()
            writer.join()
    assert caught.value.code == "BUSY"
