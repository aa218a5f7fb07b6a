"""What a power cut at any call leaves of a draft: all that was answered, and of the last call all or nothing."""

import os
import random
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.draft_session import OpenDraft
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.page_commands import write_page
from mirrord.mirror.draft.draft_manifest import MANIFEST_NAME
from mirrord.mirror.tree import kernel, kernel_aio
from tests.support.laws import scale_examples
from tests.unit.commands.conftest import page
from tests.unit.commands.test_change_laws import draft_in, pages, session_in

TEXTS = {path: f"# {path}\n\nend\n" for path in ("Inbox.md", "Plan.md", "Folder/Page.md")}
NEW_PATH, NEW_TEXT = "Folder/New.md", "# New\n\nend\n"
CALLS = ("mkdir", "create", "write", "fsync", "rename", "rename_new", "exchange", "link", "unlink", "rmdir")
CONTINUED = ""  # in place of a page: the draft is left and continued
STEPS = st.lists(st.sampled_from([*TEXTS, NEW_PATH, CONTINUED]), min_size=1, max_size=6)  # pages edited, or made


def edited(text: str, *numbers: int) -> str:
    """*text* after these edits."""
    return text.replace("end", "".join(f"{number} " for number in numbers) + "end")


class PowerCut(BaseException):
    """The power is cut."""


@dataclass(slots=True)
class Disk:
    """
    What is durable below *root*: bytes of files and names of directories, as they were when each was synced last.

    remaining: calls until the power is cut. Inodes are told from later ones with the same number.
    """

    root: Path
    remaining: int
    files: dict[tuple[int, int], bytes] = field(default_factory=dict)
    directories: dict[tuple[int, int], dict[str, tuple[int, int]]] = field(default_factory=dict)
    generations: dict[int, int] = field(default_factory=dict)

    def sync_all(self) -> None:
        """Note all of *root* as durable."""
        for path in (self.root, *self.root.rglob("*")):
            descriptor = os.open(path, os.O_RDONLY)
            self.note_sync(descriptor)
            os.close(descriptor)

    def note_sync(self, descriptor: int) -> None:
        """Note a file or directory as durable."""
        status = os.fstat(descriptor)
        key = self._key(status.st_ino)
        if stat.S_ISDIR(status.st_mode):
            self.directories[key] = self._names(descriptor)
        else:
            self.files[key] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def note_new(self, descriptor: int, name: str) -> None:
        """Note that the file or directory *name* is another one than all before."""
        inode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_ino
        self.generations[inode] = self.generations.get(inode, 0) + 1

    def leave(self, target: Path, chance: random.Random) -> None:
        """Write to *target* what is left after the cut; *chance* decides about all that was not synced."""
        self._leave_directory(self.root, self._key(self.root.stat().st_ino), target, chance)

    def _leave_directory(self, path: Path | None, key: tuple[int, int], target: Path, chance: random.Random) -> None:
        target.mkdir(parents=True)
        durable, current = self.directories.get(key, {}), self._names_at(path)
        for name in sorted({*durable, *current}):
            entry = chance.choice([durable.get(name), current.get(name)])
            if entry is None:
                continue
            place = path / name if path is not None and current.get(name) == entry else self._place_of(entry)
            if entry in self.directories or (place is not None and place.is_dir()):
                self._leave_directory(place, entry, target / name, chance)
            else:
                self._leave_file(place, entry, target / name, chance)

    def _leave_file(self, path: Path | None, key: tuple[int, int], target: Path, chance: random.Random) -> None:
        current = path.read_bytes() if path is not None else b""
        durable = self.files.get(key, b"")
        is_appended = current.startswith(durable)
        part = current[: chance.randint(len(durable), len(current))] if is_appended else durable
        target.write_bytes(chance.choice([durable, current if path is not None else durable, part]))

    def _place_of(self, key: tuple[int, int]) -> Path | None:
        """Where an entry is now, if it was renamed and not removed."""
        return next((path for path in self.root.rglob("*") if self._key(path.lstat().st_ino) == key), None)

    def _names_at(self, path: Path | None) -> dict[str, tuple[int, int]]:
        return {entry.name: self._key(entry.inode()) for entry in os.scandir(path)} if path is not None else {}

    def _names(self, descriptor: int) -> dict[str, tuple[int, int]]:
        with os.scandir(descriptor) as entries:
            return {entry.name: self._key(entry.inode()) for entry in entries}

    def _key(self, inode: int) -> tuple[int, int]:
        return inode, self.generations.get(inode, 0)


class LeastLeft(random.Random):
    """The chance that leaves nothing but what was synced."""

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def randint(self, a: int, b: int) -> int:
        return a


@contextmanager
def cut_after(disk: Disk) -> Iterator[None]:
    """Cut the power after the calls that *disk* allows: none has an effect then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # every sync is a call
        for name in CALLS:
            patch.setattr(kernel, name, _counted(disk, name, getattr(kernel, name)))
        yield


def _counted(disk: Disk, name: str, real: Callable[..., object]) -> Callable[..., object]:
    def call(descriptor: int, *arguments: object) -> object:
        if disk.remaining <= 0:
            raise PowerCut
        disk.remaining -= 1
        if name == "fsync":  # the disk is the model: no sync is waited for
            disk.note_sync(descriptor)
            return None
        result = real(descriptor, *arguments)
        if name in ("create", "mkdir"):
            disk.note_new(descriptor, str(arguments[0]))
        return result

    return call


@settings(max_examples=scale_examples(80), deadline=None)
@given(STEPS, st.integers(0, 90), st.integers(0, 1 << 32))
def test_a_power_cut_leaves_all_that_was_answered_and_of_the_last_step_all_or_nothing(
    steps: list[str], calls: int, seed: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root, after = Path(directory, "before/acme"), Path(directory, "after/acme")
        for path, text in TEXTS.items():
            page(root, path, text)
        answered, possible, change_set = _play(root, Disk(root, calls), steps, after, random.Random(seed))
        with session_in(after, "mcp-next") as session:
            draft = _continued(session, change_set)
            with draft.session.writing():  # finishes what was under way, as the next command does
                before = _view(draft)
            assert before in (answered, possible)
            _edit(draft, next(iter(before)), 99)  # what was left is certain before the next change
            draft.close()
        with session_in(after, "mcp-last") as session:
            draft = _continued(session, change_set)
            expected = {**before, next(iter(before)): edited(before[next(iter(before))], 99)}
            assert _view(draft) == expected
            draft.close()
            apply_changes(session, change_set)
        assert {path: _body(data) for path, data in pages(after).items()} == expected


def _play(
    root: Path, disk: Disk, steps: list[str], after: Path, chance: random.Random
) -> tuple[dict[str, str], dict[str, str], str]:
    """Do *steps* in a draft until the power is cut; what was answered, what might be there too, and the draft's id."""
    answered, possible = dict(TEXTS), dict(TEXTS)
    with session_in(root) as session, ExitStack() as opened:
        draft = opened.enter_context(draft_in(session))
        with session.writing():  # what a start makes is there before
            pass
        disk.sync_all()
        try:
            with cut_after(disk):
                for number, path in enumerate(steps):
                    if path == CONTINUED:
                        opened.close()
                        draft = _continued(session, draft.facts.id)
                        opened.callback(draft.close)
                        continue
                    possible = {**answered, path: edited(answered[path], number) if path in answered else NEW_TEXT}
                    if path in answered:
                        _edit(draft, path, number)
                    else:
                        write_page(draft.session, path, NEW_TEXT)
                    answered = possible
        except PowerCut:
            pass
        disk.leave(after, chance)
        return answered, possible, draft.facts.id


def _edit(draft: OpenDraft, path: str, number: int) -> None:
    edit_page(draft.session, path, [{"find": "end", "replace": f"{number} end"}])


def _view(draft: OpenDraft) -> dict[str, str]:
    session = draft.session
    return {path: _body(session.tree.read(path, 1 << 20)[0]) for path in sorted(session.catalogue.snapshot().pages)}


def _body(data: bytes) -> str:
    """The text of a page without the id that a new one gets."""
    return data.decode()[data.decode().index("# ") :]


def _continued(session: Session, change_set: str) -> OpenDraft:
    return draft_session.enter_draft(session, draft_session.find_draft(session, change_set))


def _drafted(root: Path) -> str:
    """A draft with a first text of two pages, of which the last line is not confirmed; its id."""
    page(root, "Plan.md", TEXTS["Plan.md"])
    page(root, "Inbox.md", TEXTS["Inbox.md"])
    with session_in(root) as session, draft_in(session) as draft:
        for number, path in enumerate(("Inbox.md", "Plan.md")):
            _edit(draft, path, number)
        manifest = root / draft.facts.directory / MANIFEST_NAME
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"".join(lines[:-1]))
    return draft.facts.id


@pytest.mark.parametrize("file", ["text", "kept"])
@pytest.mark.parametrize("content", [None, b"", b"other bytes"])
def test_a_last_line_without_its_files_counts_for_nothing_and_stays_so(
    tmp_path: Path, file: str, content: bytes | None
) -> None:
    root = tmp_path / "acme"
    change_set = _drafted(root)
    files = root / ".mirrord/drafts" / change_set / "tree"
    (replaced,) = [path for path in (files / ".mirrord/trash").iterdir() if path.read_text() == TEXTS["Plan.md"]]
    damaged = replaced if file == "kept" else files / "Plan.md"
    damaged.unlink()
    if content is not None:
        damaged.write_bytes(content)
    for number in (2, 3):  # a line after it does not make it count
        with session_in(root) as session:
            draft = _continued(session, change_set)
            assert _view(draft)["Plan.md"] == TEXTS["Plan.md"]
            _edit(draft, "Inbox.md", number)
            draft.close()
    with session_in(root) as session:
        draft = _continued(session, change_set)
        _edit(draft, "Plan.md", 4)
        draft.close()
        apply_changes(session, change_set)
    assert (root / "Plan.md").read_text() == edited(TEXTS["Plan.md"], 4)
    assert (root / "Inbox.md").read_text() == edited(TEXTS["Inbox.md"], 0, 2, 3)


def test_a_text_that_a_killed_process_may_not_have_synced_is_durable_before_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "acme"
    change_set = _drafted(root)
    calls: list[tuple[str, str]] = []

    def recorded(name: str) -> Callable[..., object]:
        real = getattr(kernel, name)

        def call(descriptor: int, *arguments: object) -> object:
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            calls.append((name, path.rpartition(f"{change_set}/")[2]))
            return real(descriptor, *arguments)

        return call

    monkeypatch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # every sync is a call
    with session_in(root) as session:
        draft = _continued(session, change_set)
        for name in ("fsync", "write"):
            monkeypatch.setattr(kernel, name, recorded(name))
        _edit(draft, "Inbox.md", 2)
        draft.close()
    synced = [name for call, name in calls[: calls.index(("write", MANIFEST_NAME))] if call == "fsync"]
    assert {"tree/Plan.md", "tree", "tree/.mirrord/trash", MANIFEST_NAME} <= {*synced}
    assert any(name.startswith("tree/.mirrord/trash/") for name in synced)


def test_an_edit_after_the_draft_was_continued_outlives_a_power_cut(tmp_path: Path) -> None:
    root, after = tmp_path / "before/acme", tmp_path / "after/acme"
    page(root, "Plan.md", TEXTS["Plan.md"])
    disk = Disk(root, 1000)
    with session_in(root) as session, draft_in(session) as draft:
        with session.writing():
            pass
        change_set = draft.facts.id
        disk.sync_all()
        with cut_after(disk):
            _edit(draft, "Plan.md", 0)
    with session_in(root) as session, cut_after(disk):
        draft = _continued(session, change_set)
        _edit(draft, "Plan.md", 1)
        draft.close()
    disk.leave(after, LeastLeft())
    with session_in(after) as session:
        draft = _continued(session, change_set)
        assert _view(draft)["Plan.md"] == edited(TEXTS["Plan.md"], 0, 1)
        draft.close()


def test_a_page_that_a_writer_changes_while_its_line_is_checked_stays_the_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "acme"
    change_set = _drafted(root)
    with session_in(root) as session, session_in(root, "mcp-reader") as other:
        draft = _continued(session, change_set)
        from mirrord.mirror.draft import first_texts  # noqa: PLC0415

        has_files, checks = first_texts._has_files, [0]

        def write_first(*arguments: object) -> bool:
            checks[0] += 1
            if checks[0] == 1:
                _edit(draft, "Plan.md", 2)
            return has_files(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(first_texts, "_has_files", write_first)
        with draft_session.reading_draft(other, draft.facts) as (reader, _):
            assert reader.tree.read("Plan.md", 1 << 20)[0].decode() == edited(TEXTS["Plan.md"], 1, 2)
        draft.close()
    assert checks == [1]
    shutil.rmtree(root)
