"""Pages are read, written and created; never over what was not seen."""

import os
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.seen_pages import Memory, using_memory
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.page_commands import PagePart, create_page, read_page, read_pages, write_page
from mirrord.domain.approval import Preview
from mirrord.domain.entry import digest_of, id_of_path, new_id, parse_id
from mirrord.domain.long_work import ignore_progress
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import written_copies
from tests.unit.commands.conftest import AGENT, TENANT, events, page
from tests.unit.kills import killed_at

TEXT = "---\ntitle: Alpha\n---\n\n# Alpha\n\nText.\n"
ID = "0198b463-1d4f-7c3e-9a5b-0123456789ab"


def test_a_page_is_read_with_its_front_matter(root: Path, session: Session) -> None:
    page(root, "Projects/Alpha.md", TEXT)
    shown_page = read_page(session, "Projects/Alpha")
    assert (shown_page.content, shown_page.path, shown_page.frontmatter) == (
        TEXT,
        "Projects/Alpha.md",
        {"title": "Alpha"},
    )
    assert shown_page.digest == digest_of(TEXT.encode()).hex()
    assert shown_page.page_id == str(id_of_path(TENANT, "Projects/Alpha.md"))
    assert (shown_page.total_chars, shown_page.next_offset) == (len(TEXT), None)


@pytest.mark.parametrize("name", ["Projects", "Projects/", "Projects/_index", "Projects/_index.md", "Projects.md"])
def test_a_page_with_children_has_many_names(root: Path, session: Session, name: str) -> None:
    page(root, "Projects/_index.md", TEXT)
    assert read_page(session, name).path == "Projects/_index.md"


def test_a_page_that_is_a_leaf_again_is_found_by_its_old_path(root: Path, session: Session) -> None:
    page(root, "Projects.md", TEXT)
    assert read_page(session, "Projects/_index.md").path == "Projects.md"


@pytest.mark.parametrize("name", ["caf\u00e9", "cafe\u0301.md", "CAFE\u0301"])
def test_another_case_or_composition_is_the_same_page(root: Path, session: Session, name: str) -> None:
    page(root, "Caf\u00e9.md", TEXT)
    assert read_page(session, name).path == "Caf\u00e9.md"


def test_a_page_of_exactly_the_name_asked_for_beats_a_twin(root: Path, session: Session) -> None:
    page(root, "alpha.md", "small")
    page(root, "Alpha.md", "great")
    assert read_page(session, "alpha").content == "small"
    assert read_page(session, "Alpha").content == "great"
    with pytest.raises(Failed, match="Page not found"):
        read_page(session, "ALPHA")


def test_what_is_not_there_has_the_promised_sentence_and_the_nearest_names(root: Path, session: Session) -> None:
    page(root, "Projects/Alpha.md", TEXT)
    with pytest.raises(Failed) as caught:
        read_page(session, "Projects/Alhpa.md")
    assert str(caught.value) == "Page not found at path: Projects/Alhpa.md"
    assert (caught.value.code, caught.value.kind) == ("PAGE_NOT_FOUND", "not_found")
    assert "Projects/Alpha.md" in caught.value.instruction


@pytest.mark.parametrize("path", ["../other/Page.md", "/etc/passwd", "Projects/../../x", "/", "a/.."])
def test_a_path_out_of_the_tenant_is_forbidden(session: Session, path: str) -> None:
    for act in (lambda: read_page(session, path), lambda: write_page(session, path, "x")):
        with pytest.raises(Failed, match=r"^Cannot access pages in another tenant$") as caught:
            act()
        assert caught.value.kind == "forbidden"


@pytest.mark.parametrize(
    "path", [".mirrord/id", ".records/events/x", "a/.hidden.md", "assets/x.md", "A/ASSETS/x", "a\0b", "", "a//b", "./a"]
)
def test_what_is_no_page_is_neither_read_nor_written(root: Path, session: Session, path: str) -> None:
    for act in (lambda: read_page(session, path), lambda: write_page(session, path, "x")):
        with pytest.raises(Failed) as caught:
            act()
        assert caught.value.kind in ("forbidden", "invalid")
    assert not (root / ".mirrord").exists() or not list((root / ".mirrord").glob("id"))


@pytest.mark.parametrize("name", ["con", "a:b", "x\ny", "-x", "~$a", "_index", "x" * 201, "a. ", "what?"])
def test_a_name_that_mirrord_would_not_make_is_refused(session: Session, name: str) -> None:
    with pytest.raises(Failed) as caught:
        write_page(session, f"{name}.md", "x")
    assert caught.value.code in ("INVALID_NAME", "INVALID_PATH")


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_link_is_not_followed(root: Path, session: Session, tmp_path: Path, kind: str) -> None:
    secret = page(tmp_path, "secret/Page.md", "secret")
    target = secret if kind == "file" else secret.parent
    (root / ("Link.md" if kind == "file" else "Link")).symlink_to(target)
    path = "Link.md" if kind == "file" else "Link/Page.md"
    for act in (lambda: read_page(session, path), lambda: write_page(session, path, "x")):
        with pytest.raises(Failed) as caught:
            act()
        assert caught.value.kind == "forbidden"
        assert str(tmp_path) not in f"{caught.value} {caught.value.instruction}"
    assert secret.read_text() == "secret"


def test_several_pages_are_shown_each_or_why_not(root: Path, session: Session) -> None:
    page(root, "A.md", "a")
    (first, second), unread = read_pages(session, ["A", "B"], 1000)
    assert getattr(first, "content", None) == "a"
    assert isinstance(second, Failed)
    assert unread == []


def test_several_pages_are_shown_as_far_as_there_is_room(root: Path, session: Session) -> None:
    for name in "ABC":
        page(root, f"{name}.md", name * 10)
    (first, second), unread = read_pages(session, ["A", "B", "C"], 15)
    assert (getattr(first, "content", None), getattr(second, "content", None)) == ("A" * 10, "B" * 5)
    assert getattr(second, "next_offset", None) == 5
    assert unread == ["C"]


def test_a_section_is_the_heading_and_what_is_below(root: Path, session: Session) -> None:
    page(root, "A.md", "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour\n")
    assert read_page(session, "A", PagePart("b")).content == "## B\n\ntwo\n\n### C\n\nthree\n\n"
    with pytest.raises(Failed) as caught:
        read_page(session, "A", PagePart("E"))
    assert caught.value.facts["headings"] == ["# A", "## B", "### C", "## D"]


def test_a_new_page_has_an_id_of_its_own_and_is_an_event(root: Path, session: Session) -> None:
    written = write_page(session, "Notes/New", "# New\n")
    assert written.created
    assert written.path == "Notes/New.md"
    assert (root / written.path).read_text() == f"---\nid: {written.page_id}\n---\n\n# New\n"
    assert UUID(written.page_id).version == 7
    digest = digest_of((root / written.path).read_bytes()).hex()
    assert written.digest == digest
    assert events(root) == [("PageCreated", {"page_id": written.page_id, "path": "Notes/New.md", "digest": digest})]


def test_a_copied_id_is_not_taken_over_but_a_key_of_the_users_own_is(root: Path, session: Session) -> None:
    copied = write_page(session, "Copy", f"---\nid: {ID}\n---\nText.\n")
    assert copied.page_id != ID
    assert f"id: {copied.page_id}" in (root / "Copy.md").read_text()
    written = write_page(session, "Own", "---\nid: 42\n---\nText.\n")
    assert (root / "Own.md").read_text() == "---\nid: 42\n---\nText.\n"
    assert written.page_id == str(id_of_path(TENANT, "Own.md"))


def test_an_id_that_the_new_text_drops_is_kept(root: Path, session: Session) -> None:
    page(root, "A.md", f"---\nid: {ID}\ntitle: A\n---\nOld.\n")
    read_page(session, "A")
    for text in ("New.\n", f"---\nid: {new_id()}\n---\nNewer.\n", "---\ntitle: B\n---\nNewest.\n"):
        assert write_page(session, "A", text).page_id == ID
        assert parse_id(str(read_page(session, "A").frontmatter["id"])) == UUID(ID)


def test_a_page_nobody_read_is_not_overwritten(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    with pytest.raises(Failed) as caught:
        write_page(session, "A", "new")
    assert caught.value.code == "READ_FIRST"
    assert dict(caught.value.facts) == {"path": "A.md"}
    with pytest.raises(Failed, match="was not shown in this session"):
        write_page(session, "A", "new", expected_digest=digest_of(b"old").hex())
    assert (root / "A.md").read_text() == "old"
    read_page(session, "A")
    write_page(session, "A", "new")
    assert (root / "A.md").read_text() == "new"


def test_a_page_that_another_program_makes_at_this_moment_is_not_written_over(root: Path, session: Session) -> None:
    def make_page(_: Preview) -> None:
        page(root, "A.md", "theirs")

    with pytest.raises(Failed, match=r"^'A.md' exists already\.$") as caught:
        COMMANDS["write_page"].call(session, {"path": "A", "content": "ours"}, check=make_page)
    assert caught.value.code == "EXISTS"
    assert caught.value.instruction == "Read that page, or use another name."
    assert (root / "A.md").read_text() == "theirs"
    assert events(root) == []


def test_a_title_whose_name_another_program_takes_at_this_moment_gets_a_number(root: Path, session: Session) -> None:
    def make_page(_: Preview) -> None:
        page(root, "A.md", "theirs")

    assert COMMANDS["create_page"].call(session, {"title": "A"}, check=make_page).path == "A (2).md"
    assert (root / "A.md").read_text() == "theirs"


def test_only_who_read_all_of_a_page_may_replace_all_of_it(root: Path, session: Session) -> None:
    page(root, "A.md", "0123456789")
    read_page(session, "A", PagePart(limit=4))
    with pytest.raises(Failed, match="was not shown in this session"):
        write_page(session, "A", "new")
    read_page(session, "A", PagePart(offset=7))
    with pytest.raises(Failed, match="was not shown in this session"):
        write_page(session, "A", "new")
    assert read_page(session, "A", PagePart(offset=4, limit=2)).next_offset == 6
    read_page(session, "A", PagePart(offset=6))
    assert not write_page(session, "A", "new").created


def test_a_page_that_changed_since_is_a_conflict(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    read_page(session, "A")
    page(root, "A.md", "theirs")
    with pytest.raises(Failed, match=r"^Page was modified externally, please retry$") as caught:
        write_page(session, "A", "new")
    assert (caught.value.code, caught.value.kind) == ("CONFLICT", "conflict")
    assert dict(caught.value.facts) == {"path": "A.md"}
    assert (root / "A.md").read_text() == "theirs"
    assert events(root) == []


def test_a_digest_given_is_what_counts(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    digest = read_page(session, "A").digest
    written = write_page(session, "A", "new", expected_digest=digest)
    with pytest.raises(Failed) as caught:
        write_page(session, "A", "newer", expected_digest=digest)
    assert caught.value.code == "CONFLICT"
    assert write_page(session, "A", "newer", expected_digest=written.digest).digest == digest_of(b"newer").hex()
    with pytest.raises(Failed, match="is no digest"):
        write_page(session, "A", "newest", expected_digest="abc")


def test_writing_what_is_there_already_is_always_fine_and_no_event(root: Path, session: Session) -> None:
    page(root, "A.md", "same")
    before = (root / "A.md").stat()
    written = write_page(session, "A", "same")
    assert not written.created
    assert (root / "A.md").stat().st_ino == before.st_ino
    assert events(root) == []


def test_what_the_same_actor_wrote_in_another_session_was_not_shown_in_this_one(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    read_page(session, "A")
    write_page(session, "A", "new")
    other = Session(Tree(root), "acme", TENANT, AGENT, "other")
    with pytest.raises(Failed) as caught:
        write_page(other, "A", "blind")
    assert caught.value.code == "READ_FIRST"
    other.close()


def test_a_stale_text_does_not_replace_what_the_same_session_edited(root: Path, session: Session) -> None:
    page(root, "A.md", "one\n\ntwo\n")
    text = read_page(session, "A").content
    edited = edit_page(session, "A", [{"find": "one", "replace": "three"}])
    with pytest.raises(Failed, match="not sure that you know its newest text") as caught:
        write_page(session, "A", text.replace("two", "four"))
    assert caught.value.code == "READ_FIRST"
    assert not write_page(session, "A", "three\n\nfour\n", expected_digest=edited.digest).created


def test_one_session_s_reading_does_not_let_another_one_write(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    first, second = Memory(), Memory()
    with using_memory(first):
        read_page(session, "A")
    page(root, "A.md", "theirs")
    with using_memory(second):
        read_page(session, "A")
    with using_memory(first), pytest.raises(Failed, match="modified externally"):
        write_page(session, "A", "over theirs")
    with using_memory(second):
        assert not write_page(session, "A", "after theirs").created


def test_a_page_deleted_since_is_not_made_again_unnoticed(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    read_page(session, "A")
    (root / "A.md").unlink()
    with pytest.raises(Failed) as caught:
        write_page(session, "A", "new")
    assert caught.value.code == "CONFLICT"
    assert write_page(session, "A", "new").created


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "---\ntitle: [\n---\nBody\n"])
def test_what_no_page_can_hold_is_refused(root: Path, session: Session, text: str) -> None:
    with pytest.raises(Failed) as caught:
        write_page(session, "A", text)
    assert caught.value.kind == "invalid"
    assert not (root / "A.md").exists()


def test_a_page_with_a_front_matter_that_was_broken_before_may_be_written(root: Path, session: Session) -> None:
    broken = "---\ntitle: [\n---\nBody\n"
    page(root, "A.md", broken)
    read_page(session, "A")
    write_page(session, "A", broken + "More.\n")
    assert (root / "A.md").read_text() == broken + "More.\n"


def test_an_ignored_path_would_never_be_synced(root: Path, session: Session) -> None:
    page(root, ".mirrorignore", "drafts/\n")
    with pytest.raises(Failed) as caught:
        write_page(session, "drafts/A", "x")
    assert caught.value.code == "IGNORED"


def test_a_page_for_a_folder_is_its_index_file(root: Path, session: Session) -> None:
    page(root, "Folder/Child.md", "child")
    assert write_page(session, "Folder", "x").path == "Folder/_index.md"


def test_a_page_below_another_case_of_a_folder_is_in_that_folder(root: Path, session: Session) -> None:
    page(root, "Folder/Child.md", "child")
    assert write_page(session, "folder/Other", "x").path == "Folder/Other.md"


def test_a_created_page_has_title_icon_and_body(root: Path, session: Session) -> None:
    page(root, "Projects/_index.md", "x")
    created = create_page(session, "Beta: a plan", "Projects", "# Beta", icon="🚀")
    assert created.path == "Projects/Beta- a plan.md"
    text = (root / created.path).read_text()
    assert text == f"---\nid: {created.page_id}\ntitle: 'Beta: a plan'\nicon: 🚀\n---\n\n# Beta\n"


def test_a_created_page_never_takes_the_place_of_another(root: Path, session: Session) -> None:
    page(root, "alpha.md", "x")
    (root / "Alpha (2)").mkdir()
    assert create_page(session, "Alpha").path == "Alpha (3).md"
    assert create_page(session, "Alpha").path == "Alpha (4).md"
    assert (root / "alpha.md").read_text() == "x"


def test_a_leaf_gets_its_first_child_and_is_the_page_of_a_folder_then(root: Path, session: Session) -> None:
    page(root, "Projects.md", "parent")
    created = create_page(session, "Alpha", "Projects")
    assert created.path == "Projects/Alpha.md"
    assert (root / "Projects/_index.md").read_text() == "parent"
    assert not (root / "Projects.md").exists()
    assert write_page(session, "Projects/Alpha/Deep.md", "x").path == "Projects/Alpha/Deep.md"
    assert (root / "Projects/Alpha/_index.md").exists()


def test_a_parent_that_is_not_there_is_said_so(session: Session) -> None:
    with pytest.raises(Failed, match=r"^Page not found at path: Nowhere$"):
        create_page(session, "Alpha", "Nowhere")
    with pytest.raises(Failed, match="needs a title"):
        create_page(session, "  ")


def test_a_save_amid_a_write_is_a_conflict_and_stays(
    root: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    page(root, "A.md", "old")
    read_page(session, "A")
    _save_before_the_exchange(root, monkeypatch)
    with pytest.raises(Failed, match="modified externally") as caught:
        write_page(session, "A", "new")
    assert dict(caught.value.facts) == {"path": "A.md"}
    assert (root / "A.md").read_text() == "theirs"
    assert list((root / ".mirrord/tmp/mcp-0").iterdir()) == []
    assert events(root) == []


def _save_before_the_exchange(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, saves = kernel.exchange, list[bool]()

    def saved(out: int, source: str, into: int, target: str) -> None:
        if target == "A.md" and not saves:
            saves.append(True)
            page(root, "saving", "theirs").rename(root / "A.md")
        original(out, source, into, target)

    monkeypatch.setattr(kernel, "exchange", saved)


def test_a_write_that_could_not_be_told_afterwards_is_not_done(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    page(root, "B.md", "old")
    read_page(session, "A")
    read_page(session, "B")
    write_page(session, "A", "new")
    (event_file,) = (root / ".records/events").iterdir()
    event_file.unlink()
    event_file.mkdir()
    with pytest.raises(Failed):
        write_page(session, "B", "new")
    assert (root / "B.md").read_text() == "old"
    assert [path.name[:2] for path in (root / ".mirrord/tmp").rglob("*") if path.is_file()] == ["a."]
    event_file.rmdir()
    write_page(session, "B", "new")
    assert (root / "B.md").read_text() == "new"


def test_what_the_system_refuses_is_a_failure_without_places_of_this_machine(
    root: Path, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page(root, "A.md", "old")
    read_page(session, "A")
    for number, code in ((28, "DISK_FULL"), (5, "UNAVAILABLE")):

        def refuse(_: int, number: int = number) -> None:
            raise OSError(number, os.strerror(number), str(tmp_path))

        with monkeypatch.context() as refused:
            refused.setattr(kernel, "fsync", refuse)
            with pytest.raises(Failed) as caught:
                write_page(session, "A", "new")
        assert caught.value.code == code
        assert str(tmp_path) not in f"{caught.value} {caught.value.instruction}"
    assert (root / "A.md").read_text() == "old"
    assert write_page(session, "A", "new").digest == digest_of(b"new").hex()


@pytest.mark.parametrize("exists", [True, False])
def test_a_kill_at_any_call_of_a_write_leaves_the_old_or_the_new_text(tmp_path: Path, exists: bool) -> None:
    old = new = 0
    for number in range(1, 80):
        root = tmp_path / f"run-{number}" / "acme"
        root.mkdir(parents=True)
        if exists:
            page(root, "A.md", "old")
        if not killed_at(number, root, _write):
            break
        session = Session(Tree(root), "acme", TENANT, AGENT, "next")
        with session.writing() as journal:
            kept_digests = {label.new for label in written_copies.list_copies(journal).values()}
        text = (root / "A.md").read_text() if (root / "A.md").exists() else None
        assert text == ("old" if exists else None) or (text or "").endswith("new")
        assert text is None or text == "old" or digest_of(text.encode()) in kept_digests
        new += text is not None and text.endswith("new")
        old += text in ("old", None)
        session.close()
    assert old > 4
    assert new > 4


def _write(root: Path) -> None:
    session = Session(Tree(root), "acme", TENANT, AGENT, "dying")
    if (root / "A.md").exists():
        session.note_shown("A.md", digest_of(b"old"))
    write_page(session, "A", "new")


def test_a_preview_refuses_a_page_that_was_seen_and_is_gone_as_the_command_does(root: Path, session: Session) -> None:
    file = page(root, "Gone.md", "text\n")
    read_page(session, "Gone.md")
    file.unlink()
    with pytest.raises(Failed) as caught:
        write_page.preview(session, "Gone.md", "new\n")
    assert caught.value.code == "CONFLICT"


@pytest.mark.parametrize("name", ["write_page", "create_page"])
@pytest.mark.parametrize("content", ["hello", "---\ntags: [a]\n---\nhello\n", "---\nid: mine\n---\n"])
def test_a_preview_of_a_new_page_shows_every_byte_that_is_written(
    root: Path, session: Session, name: str, content: str
) -> None:
    command, arguments = COMMANDS[name], {"content": content}
    arguments |= {"title": "New"} if name == "create_page" else {"path": "New.md"}
    with session.deriving_ids(new_id()):
        preview = command.preview(session, **arguments)
        command.call(session, arguments, ignore_progress)
    added = [line[1:] for line in preview.lines if line.startswith("+") and not line.startswith("+++")]
    assert (root / "New.md").read_text().splitlines() == added


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_page", {"content": "one\0\n"}),
        ("edit_page", {"edits": [{"find": "one", "replace": "\ud800"}]}),
        ("write_page", {"content": "---\nid: [\n---\n"}),
    ],
)
def test_a_preview_refuses_a_text_that_no_page_can_hold_as_the_command_does(
    root: Path, session: Session, name: str, arguments: dict[str, object]
) -> None:
    page(root, "A.md", "one\n")
    read_page(session, "A.md")
    refusals = []
    for act in (COMMANDS[name].preview, COMMANDS[name]):
        with pytest.raises(Failed) as caught:
            act(session, path="A.md", **arguments)
        refusals.append((caught.value.code, str(caught.value)))
    assert refusals[0] == refusals[1]
