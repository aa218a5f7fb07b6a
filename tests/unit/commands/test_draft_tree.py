"""A draft's tree: the same view as if the commands had run on the tree itself, which stays as it is."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page, write_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.commands.pages.search_command import search_pages
from mirrord.domain.entry import digest_of
from mirrord.errors import DraftFull
from mirrord.mirror.draft import draft_tree
from mirrord.mirror.draft.draft_tree import FILES_NAME, DraftTree
from mirrord.mirror.tree import kernel, kernel_aio
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import lineage
from mirrord.mirror.tree.tree_scan import scan
from tests.support.harness import eventually
from tests.support.laws import scale_examples
from tests.support.trees import tree as files_of
from tests.unit.commands.conftest import AGENT, TENANT, page

PAGES = {
    "Inbox.md": "# Inbox\n\n- See [[Alpha]].\n",
    "Projects/_index.md": "# Projects\n",
    "Projects/Alpha.md": "# Alpha\n\nBack to [[Inbox]].\n",
    "Projects/Beta/_index.md": "# Beta\n",
    "Projects/Beta/Notes.md": "# Notes\n\n[Alpha](../Alpha.md)\n",
    "Archive/Old.md": "# Old\n",
}
ATTACHMENT = "Projects/assets/plan.png"
INBOX = PAGES["Inbox.md"].encode()


@contextmanager
def draft_over(root: Path, lower: Tree) -> Iterator[Session]:
    """A session on a draft over *lower*."""
    directory = root / ".mirrord/drafts/one"
    (directory / FILES_NAME).mkdir(parents=True, exist_ok=True)
    session = Session(DraftTree(lower, directory), "acme", TENANT, AGENT, "mcp-draft")
    try:
        yield session
    finally:
        session.close()


def fill(root: Path) -> None:
    for path, text in PAGES.items():
        page(root, path, text)
    (root / ATTACHMENT).parent.mkdir()
    (root / ATTACHMENT).write_bytes(b"png")


def view(session: Session) -> dict[str, object]:
    """All that a reader sees: pages with their texts, attachments, folders; and what a scan finds."""
    snapshot = session.catalogue.snapshot()
    texts = {path: session.tree.read(path, 1 << 20)[0] for path in [*snapshot.pages, *snapshot.attachments]}
    scanned = scan(session.tree, Ignore())
    assert sorted(scanned.files) == sorted(texts)
    assert all(snapshot.find(path) is not None for path in snapshot.pages)
    listed = {path: sorted(session.tree.list_names(path)) for path in scanned.directories if path[0] != "."}
    return {"texts": texts, "folders": sorted(snapshot.folders), "directories": listed}


PATHS = st.sampled_from([*PAGES, "New.md", "Archive/New.md", "Projects/Alpha/Child.md", "Archive", "Projects/Beta"])
Step = tuple[str, str, str]
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "create", "edit", "move", "delete", "restore", "directory"]), PATHS, PATHS),
    max_size=12,
)


def act(session: Session, step: Step, trash: list[str]) -> str:
    """One step; what came of it, without ids. trash: ids of what this session deleted."""
    try:
        with session.deriving_ids(TENANT):
            return carry_out(session, step, trash)
    except Failed as failed:
        return failed.code


def carry_out(session: Session, step: Step, trash: list[str]) -> str:
    kind, path, other = step
    if kind == "write":
        write_page(session, path, f"# Written\n\n[[{other.removesuffix('.md')}]]\n")
    elif kind == "create":
        create_page(session, "Fresh", other.removesuffix(".md") if "/" in other else None, "text\n")
    elif kind == "edit":
        edit_page(session, path, [{"find": "# ", "replace": "# More "}])
    elif kind == "move":
        return move_page(session, path, other).new_path
    elif kind == "delete":
        trash.append(delete_page(session, path, recursive=True).trash_id)
    elif kind == "restore" and trash:
        return restore_page(session, trash.pop()).path
    elif kind == "directory":
        session.tree.make_directories("Empty/Below")
        return str(session.tree.remove_directory(path.removesuffix(".md")))
    return "done"


def check_claims(draft: Session) -> None:
    """Claims are known by the paths above, and a draft's own files are among the paths that a search looks at."""
    assert isinstance(draft.tree, DraftTree)
    claims = draft.tree.manifest.claims
    paths = {*files_of(draft.tree.root), *claims, "Projects/Beta", "Projects/Beta/None.md", "Empty/Below"}
    for path in paths:
        assert draft.tree.manifest.is_claimed(path) is any(above in claims for above in lineage(path)), path
    assert {path for path, stat in draft.tree.own_entries() if stat.is_file} <= {*draft.tree.own_paths()}


@settings(max_examples=scale_examples(40), deadline=None)
@given(STEPS)
def test_a_drafts_view_is_that_of_the_same_steps_on_the_tree_which_stays_as_it_is(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root, other_root = Path(directory, "a/acme"), Path(directory, "b/acme")
        root.mkdir(parents=True)
        fill(root)
        shutil.copytree(root, other_root)
        before = files_of(root)
        lower = Tree(root)
        plain = Session(Tree(other_root), "acme", TENANT, AGENT, "mcp-plain")
        trash: tuple[list[str], list[str]] = ([], [])
        try:
            with draft_over(root, lower) as draft:
                for step in steps:
                    assert act(draft, step, trash[0]) == act(plain, step, trash[1]), step
                    assert view(draft) == view(plain), step
                    check_claims(draft)
            with draft_over(root, lower) as draft:  # as another process finds it
                assert view(draft) == view(plain)
            assert files_of(root) == before
        finally:
            plain.close()
            lower.close()


@pytest.fixture
def lower(root: Path) -> Iterator[Tree]:
    fill(root)
    tree = Tree(root)
    yield tree
    tree.close()


def test_a_file_is_copied_before_its_first_change_and_no_other(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Read"}])

        copied_paths = {path for path, stat in draft.tree.own_entries() if stat.is_file}
    assert copied_paths == {"Inbox.md"}
    assert (root / "Inbox.md").read_text() == PAGES["Inbox.md"]
    assert (root / ".mirrord/drafts/one/tree/Inbox.md").read_text() == "# Inbox\n\n- Read [[Alpha]].\n"


def test_what_others_change_is_seen_unless_the_draft_changed_it(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Read"}])
        page(root, "Inbox.md", "# Other\n")
        page(root, "Archive/Late.md", "# Late\n")

        assert draft.catalogue.snapshot().pages.keys() >= {"Archive/Late.md"}
        assert b"Read" in draft.tree.read("Inbox.md", 1 << 20)[0]


def test_a_page_keeps_its_id_through_a_move_in_a_draft(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Archive/Old.md", [{"find": "# Old", "replace": "# Older"}])
        move_page(draft, "Archive/Old.md", "Projects/Old.md")

        assert draft.tree.moved_from == {"Projects/Old.md": "Archive/Old.md", "Archive/Old.md": None}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(call, the name of its file or directory) of every call that syncs, writes or gives a file its place."""
    call_log: list[tuple[str, str]] = []

    def recorded(name: str) -> Callable[..., object]:
        real = getattr(kernel, name)

        def call(descriptor: int, *arguments: object) -> object:
            call_log.append((name, Path(f"/proc/self/fd/{descriptor}").readlink().name))
            return real(descriptor, *arguments)

        return call

    monkeypatch.setattr(kernel_aio, "_SYSCALL_NUMBERS", None)  # every sync is a call
    for name in ("write", "fsync", "exchange", "rename_new"):
        monkeypatch.setattr(kernel, name, recorded(name))
    return call_log


def test_a_claim_is_written_after_both_texts_and_durable_with_them_before_the_answer(
    root: Path, lower: Tree, calls: list[tuple[str, str]]
) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Archive/Old.md", [{"append": "More."}])  # begins the trash of the draft
        calls.clear()
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Perceive"}])

    calls[:] = [call for call in calls if not call[1].startswith("a.")]  # the copy for the daemon
    written = [name for call, name in calls if call == "write"]
    synced = [name for call, name in calls if call == "fsync"]
    (replaced,) = [name for name in synced if f".{digest_of(INBOX).hex()}." in name]
    assert written == [replaced, "Inbox.md", "manifest.jsonl", "manifest.jsonl"]
    assert sorted(synced) == sorted([replaced, "Inbox.md", FILES_NAME, "trash", "manifest.jsonl"])
    assert [call for call, _ in calls] == ["write"] * 3 + ["fsync"] * 5 + ["write"], "one wait; then it is confirmed"


def test_a_first_text_is_confirmed_durably_before_it_is_replaced(
    root: Path, lower: Tree, calls: list[tuple[str, str]]
) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Perceive"}])
        calls.clear()
        edit_page(draft, "Inbox.md", [{"append": "More."}])

    assert ("fsync", "manifest.jsonl") in calls[: [call for call, _ in calls].index("exchange")]


def test_a_claim_of_a_write_that_failed_is_durable_before_the_next_change(
    root: Path, lower: Tree, calls: list[tuple[str, str]]
) -> None:
    with draft_over(root, lower) as draft:
        draft.tree.claim_with_next_syncs("Inbox.md", 10)
        assert ("fsync", "manifest.jsonl") not in calls
        draft.tree.move("Inbox.md", "Projects/Inbox.md")

    placed = [name for name, _ in calls].index("rename_new")
    assert ("fsync", "manifest.jsonl") in calls[:placed]


def test_a_claim_whose_copy_could_not_be_made_durable_is_none(
    root: Path, lower: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Archive/Old.md", [{"append": "More."}])

        def fail(*_: int) -> None:
            raise OSError(errno.EIO, "input/output error")

        with monkeypatch.context() as broken:
            broken.setattr(kernel, "fsync_all", fail)
            with pytest.raises(Failed):
                edit_page(draft, "Inbox.md", [{"append": "More."}])
        assert isinstance(draft.tree, DraftTree)
        assert not draft.tree.is_claimed("Inbox.md")
        (root / "Inbox.md").write_text("# By a person\n")
        assert draft.tree.list_stats("")["Inbox.md"].size == len("# By a person\n")
        edit_page(draft, "Inbox.md", [{"append": "More."}])
        assert "By a person" in draft.tree.read("Inbox.md", 1 << 20)[0].decode()


@pytest.mark.parametrize("path", ["Inbox.md", "Projects/Alpha.md"])
def test_an_edit_whose_claim_the_disk_did_not_take_can_be_made_again_and_stays(
    root: Path, lower: Tree, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Archive/Old.md", [{"append": "More."}])
        with monkeypatch.context() as broken:
            broken.setattr(kernel, "write", half_written("manifest.jsonl"))
            with pytest.raises(Failed):
                edit_page(draft, path, [{"append": "Lost."}])
        assert isinstance(draft.tree, DraftTree)
        assert not draft.tree.is_claimed(path)
        edit_page(draft, path, [{"append": "Kept."}])

    with draft_over(root, lower) as draft:
        assert isinstance(draft.tree, DraftTree)
        draft.tree.remove_unclaimed_files()
        assert draft.tree.is_claimed(path)
        assert b"Kept." in draft.tree.read(path, 1 << 20)[0]
        assert b"Lost." not in draft.tree.read(path, 1 << 20)[0]


def test_a_move_whose_line_the_disk_did_not_take_leaves_a_manifest_that_can_be_read(
    root: Path, lower: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Archive/Old.md", [{"append": "More."}])
        with monkeypatch.context() as broken:
            broken.setattr(kernel, "write", half_written("manifest.jsonl"))
            with pytest.raises(OSError, match="No space"):
                draft.tree.move("Archive/Old.md", "Archive/New.md")
        draft.tree.move("Archive/Old.md", "Archive/Newer.md")

    with draft_over(root, lower) as draft:
        assert draft.tree.moved_from["Archive/Newer.md"] == "Archive/Old.md"


def half_written(name: str) -> Callable[[int, bytes], None]:
    """kernel.write() on a disk that is full after half of what goes to the file of that *name*."""
    write = kernel.write

    def write_half(descriptor: int, data: bytes) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name != name:
            write(descriptor, data)
            return
        write(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    return write_half


@pytest.mark.parametrize("path", ["Inbox.md", "New.md", "Archive/New.md"])
def test_a_file_that_a_power_cut_left_without_its_line_is_not_part_of_the_draft(
    root: Path, lower: Tree, path: str
) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Archive/Old.md", [{"append": "More."}])
    upper = root / ".mirrord/drafts/one/tree" / path
    upper.write_text("# Half of a change\n")

    with draft_over(root, lower) as draft:
        assert isinstance(draft.tree, DraftTree)
        draft.tree.remove_unclaimed_files()
        directory, _, name = path.rpartition("/")
        assert (name in draft.tree.list_names(directory)) is (lower.stat(path) is not None)
        assert draft.tree.is_claimed("Archive/Old.md")
        assert "More." in draft.tree.read("Archive/Old.md", 1 << 20)[0].decode()
        assert not upper.exists()


def test_a_search_in_a_draft_finds_its_texts_and_not_those_it_replaced(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Perceive"}])

        assert [hit.path for hit in search_pages(draft, "Perceive").results] == ["Inbox.md"]
        assert search_pages(draft, "See [[Alpha").results == []
        assert [hit.path for hit in search_pages(draft, "Perceive|# Old", regex=True).results] == [
            "Archive/Old.md",
            "Inbox.md",
        ]


def test_a_search_in_a_draft_sees_what_was_changed_after_an_earlier_one(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Perceive"}])
        eventually(  # the text is kept once the clock has gone on since its write
            lambda: search_pages(draft, "Perceive").results and draft.catalogue._own_texts, "the text is kept"
        )
        edit_page(draft, "Inbox.md", [{"find": "Perceive", "replace": "Behold"}])
        write_page(draft, "New/Deep/Page.md", "Behold too.\n")
        move_page(draft, "Projects", "Work")

        assert search_pages(draft, "Perceive").results == []
        assert [hit.path for hit in search_pages(draft, "Behold").results] == ["Inbox.md", "New/Deep/Page.md"]
        assert [hit.path for hit in search_pages(draft, "Back to").results] == ["Work/Alpha.md"]


def test_a_draft_says_when_it_is_full_and_copies_nothing_then(
    root: Path, lower: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_tree, "MAX_PAGES", 2)
    with draft_over(root, lower) as draft:
        with pytest.raises(DraftFull, match="at most 2 pages"):
            draft.tree.claim("Projects")
        assert list(draft.tree.own_entries()) == []
        with pytest.raises(Failed) as failed:
            move_page(draft, "Projects/_index.md", "Archive/")
    assert failed.value.code == "CHANGES_FULL"
    assert "apply_changes" in failed.value.instruction


def test_a_draft_with_as_many_bytes_as_it_may_have_takes_no_more(
    root: Path, lower: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_tree, "MAX_BYTES", 1 << 20)
    with draft_over(root, lower) as draft:
        write_page(draft, "First.md", "x" * 600_000)
        with pytest.raises(Failed, match="1 MB") as failed:
            write_page(draft, "Second.md", "x" * 600_000)
        assert failed.value.code == "CHANGES_FULL"
        write_page(draft, "Small.md", "x\n")
        assert draft.tree.stat("Second.md") is None


def test_a_record_of_a_move_that_did_not_happen_is_taken_back(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        assert isinstance(draft.tree, DraftTree)
        draft.tree.claim("Inbox.md", "Moved.md")
        draft.tree.manifest.note_move("Inbox.md", "Moved.md")  # and the process dies
    with draft_over(root, lower) as draft:
        assert draft.tree.moved_from == {}


def test_a_line_that_another_process_is_writing_is_left_to_it_by_readers(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Read"}])
        edit_page(draft, "Archive/Old.md", [{"append": "More."}])
    manifest = root / ".mirrord/drafts/one/manifest.jsonl"
    line_start, all_lines = manifest.read_bytes()[:-20], manifest.read_bytes()
    manifest.write_bytes(line_start)
    with draft_over(root, lower) as reader:
        assert b"Read" in reader.tree.read("Inbox.md", 1 << 20)[0]
        assert manifest.read_bytes() == line_start
        manifest.write_bytes(all_lines)  # as the writer goes on
    with draft_over(root, lower) as draft:
        assert b"More." in draft.tree.read("Archive/Old.md", 1 << 20)[0]


def test_a_torn_line_of_the_manifest_is_ignored(root: Path, lower: Tree) -> None:
    with draft_over(root, lower) as draft:
        edit_page(draft, "Inbox.md", [{"find": "See", "replace": "Read"}])
    manifest = root / ".mirrord/drafts/one/manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes() + b'{"path": "Archive/O')
    with draft_over(root, lower) as draft:
        assert b"Read" in draft.tree.read("Inbox.md", 1 << 20)[0]
        delete_page(draft, "Archive/Old.md")
    with draft_over(root, lower) as draft:
        assert "Archive/Old.md" not in draft.catalogue.snapshot().pages
