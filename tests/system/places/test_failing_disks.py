"""Calls that fail while directories are made, moved and removed: the item waits, everything else goes on."""

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress

import psycopg
import pytest

from mirrord.errors import Unavailable
from mirrord.mirror.tree import kernel, kernel_aio
from mirrord.sync import passes
from tests.support.entries import add_folder, add_page, change, delete
from tests.support.mirrors import Mirror

Calls = Callable[[str, int, int], None]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Calls:
    """The *number*th call that the kernel gets from now on fails with that error, once."""

    def fail(name: str, number: int, error: int) -> None:
        original, calls = getattr(kernel, name), [0]
        monkeypatch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # every sync is a call of the kernel's fsync

        def called(*arguments: object) -> object:
            calls[0] += 1
            if calls[0] == number:
                raise OSError(error, os.strerror(error))
            return original(*arguments)

        monkeypatch.setattr(kernel, name, called)

    return fail


def assert_no_pass_failed(caplog: pytest.LogCaptureFixture) -> None:
    assert "pass_failed" not in caplog.messages


@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
async def test_a_folder_whose_name_another_takes_is_moved_whichever_sync_fails(
    mirror: Mirror, failing: Calls, caplog: pytest.LogCaptureFixture, number: int, error: int
) -> None:
    mirror.write({"Box/One.md": "one\n", "Box/Two.md": "two\n"})
    await mirror.settle()
    box, first, two = mirror.ids("Box", "Box/One", "Box/Two")
    change(mirror.app, box, name="Crate")
    new = add_folder(mirror.app, name="Box")
    failing("fsync", number, error)
    await mirror.settle()
    assert mirror.ids("Crate", "Crate/One", "Crate/Two", "Box") == [box, first, two, new]
    assert mirror.files() == {"Crate/One.md": "one\n", "Crate/Two.md": "two\n"}
    assert (mirror.root / "Box").is_dir()
    assert mirror.count_living() == 4
    assert mirror.problems() == {}
    assert_no_pass_failed(caplog)


@pytest.mark.parametrize(
    ("call", "number"), [("mkdir", 1), ("fsync", 1), ("openat2", 3), ("openat2", 6)], ids=lambda value: str(value)
)
async def test_a_folder_that_cannot_be_made_now_is_made_later_and_others_at_once(
    mirror: Mirror, failing: Calls, caplog: pytest.LogCaptureFixture, call: str, number: int
) -> None:
    folder = add_folder(mirror.app, name="Box")
    add_page(mirror.app, name="Page", markdown="page\n", parent_id=folder)
    add_page(mirror.app, name="Other", markdown="other\n")
    failing(call, number, errno.EMFILE)
    mirror.engine.notify()
    with suppress(Unavailable):  # the notes about change sets could not be listed: the engine's loop goes on
        await mirror.work()
    await mirror.settle()
    assert mirror.files().keys() == {"Box/Page.md", "Other.md"}
    assert mirror.problems() == {}
    assert_no_pass_failed(caplog)


@pytest.mark.parametrize("number", range(1, 12))
async def test_moves_survive_whichever_call_the_limit_of_open_files_refuses(
    mirror: Mirror, failing: Calls, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    mirror.write({"a.md": "A\n", "b.md": "B\n", "c.md": "C\n", "a/x.md": "x\n"})
    await mirror.settle()
    ids = mirror.ids("a", "b", "c", "a/x")
    mirror.app.execute("UPDATE mirrord.page SET name = name || '!' WHERE parent_id IS NULL")
    failing("openat2", number, errno.EMFILE)
    mirror.engine.notify()
    with suppress(Unavailable):  # the notes about change sets could not be listed: the engine's loop goes on
        await mirror.work()
    await mirror.settle()
    assert mirror.files() == {"a!.md": "A\n", "b!.md": "B\n", "c!.md": "C\n", "a!/x.md": "x\n"}
    assert mirror.ids("a!", "b!", "c!", "a!/x") == ids
    assert mirror.count_living() == 4
    assert_no_pass_failed(caplog)


@pytest.mark.parametrize("number", range(1, 30))
async def test_saves_are_carried_over_whichever_call_the_limit_of_open_files_refuses(
    mirror: Mirror, failing: Calls, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    mirror.write({"a.md": "A\n", "Box/b.md": "B\n", "c.md": "C\n"})
    await mirror.settle()
    ids = mirror.ids("a", "Box/b", "c")
    (mirror.root / "a.md").write_text("in place\n")
    (mirror.root / "Box/b.md").rename(mirror.root / "Box/moved.md")
    (mirror.root / "c.md").rename(mirror.root / "C.md")
    failing("openat2", number, errno.EMFILE)
    mirror.engine.request_scan()
    with suppress(Unavailable):  # the notes about change sets could not be listed: the engine's loop goes on
        await mirror.work()
    await mirror.settle()
    assert mirror.rows() == {"a": "in place\n", "Box": None, "Box/moved": "B\n", "C": "C\n"}
    assert mirror.ids("a", "Box/moved", "C") == ids
    assert mirror.problems() == {}
    assert_no_pass_failed(caplog)


@pytest.mark.parametrize("call", ["rmdir", "fsync"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_folder_that_cannot_be_removed_now_is_removed_later(
    mirror: Mirror, failing: Calls, caplog: pytest.LogCaptureFixture, call: str, number: int
) -> None:
    mirror.write({"Box/Page.md": "page\n", "Box/Deep/Page.md": "deep\n", "Kept.md": "kept\n"})
    await mirror.settle()
    (box,) = mirror.ids("Box")
    delete(mirror.app, box)
    failing(call, number, errno.EIO)
    await mirror.settle()
    assert mirror.files() == {"Kept.md": "kept\n"}
    assert not (mirror.root / "Box").exists()
    assert mirror.rows() == {"Kept": "kept\n"}
    assert mirror.problems() == {}
    assert_no_pass_failed(caplog)


async def test_a_file_whose_record_failed_is_found_again_though_its_row_moved_meanwhile(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, admin_dsn: str
) -> None:
    folder = add_folder(mirror.app, name="Box")
    await mirror.settle()
    page = add_page(mirror.app, name="Page", markdown="page\n")
    original = kernel._renameat2

    def cut(*arguments: object) -> None:
        original(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(kernel, "_renameat2", original)
        with psycopg.connect(admin_dsn, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid NOT IN (pg_backend_pid(), %s)",
                [mirror.app.info.backend_pid],
            )

    monkeypatch.setattr(kernel, "_renameat2", cut)
    mirror.engine.notify()
    with pytest.raises(Unavailable):
        await mirror.work()
    change(mirror.app, page, parent_id=folder)
    await mirror.opened.sides.database.replace_broken()
    mirror.engine.notify()
    while not mirror.engine.is_idle:
        await mirror.work()
    assert mirror.files().keys() == {"Box/Page.md"}
    assert mirror.ids("Box/Page") == [page]
    assert mirror.count_living() == 2


async def test_deletions_on_which_mirrord_itself_fails_are_listed_and_tried_again(
    mirror: Mirror, poison: set[str]
) -> None:
    mirror.write({"Gone.md": "gone\n", "Kept.md": "kept\n"})
    await mirror.settle()
    poison.add("Gone.md")
    await _deleted_in_vain(mirror, "Gone.md")
    assert [code for _, code in mirror.problems()] == ["internal"]
    poison.clear()
    mirror.write({"New.md": "new\n"})
    await mirror.settle()
    assert mirror.rows() == {"Kept": "kept\n", "New": "new\n"}
    assert mirror.problems() == {}


async def test_a_deletion_on_which_mirrord_itself_fails_holds_up_no_later_one(
    mirror: Mirror, poison: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write({"Gone.md": "gone\n", "Later.md": "later\n", "Kept.md": "kept\n"})
    await mirror.settle()
    poison.add("Gone.md")
    monkeypatch.setattr(passes, "FAILED_RETRY_SECONDS", 3600.0)
    await _deleted_in_vain(mirror, "Gone.md")
    (mirror.root / "Later.md").unlink()
    mirror.engine.request_scan()
    async with asyncio.timeout(60):
        while "Later" in mirror.rows():
            await mirror.work()
    assert mirror.rows() == {"Gone": "gone\n", "Kept": "kept\n"}


async def _deleted_in_vain(mirror: Mirror, path: str) -> None:
    (mirror.root / path).unlink()
    mirror.engine.request_scan()
    async with asyncio.timeout(60):
        while not mirror.problems():
            await mirror.work()
