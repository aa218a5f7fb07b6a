"""Pages move with all that is theirs, and every link goes on meaning what it meant."""

from pathlib import Path
from threading import Timer

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page, read_page, write_page
from mirrord.domain.entry import new_id
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import batch_rename
from tests.unit.commands.conftest import AGENT, TENANT, Open, events, page
from tests.unit.kills import killed_at


def files(root: Path) -> dict[str, str]:
    """Every visible file by its path."""
    paths = [path for path in root.rglob("*") if path.is_file()]
    texts = {str(path.relative_to(root)): path.read_text() for path in paths}
    return {path: text for path, text in texts.items() if not path.startswith(".")}


def test_a_leaf_moves_to_a_folder_that_is_made(root: Path, session: Session) -> None:
    page(root, "A.md", "text")
    moved = move_page(session, "A", "Some/Where/B")
    assert (moved.new_path, moved.links_rewritten) == ("Some/Where/B.md", 0)
    assert files(root) == {"Some/Where/B.md": "text"}


@pytest.mark.parametrize("destination", ["Projects", "Projects/", "Projects/A", "Projects/A.md"])
def test_a_page_moves_below_one_that_has_pages(root: Path, session: Session, destination: str) -> None:
    page(root, "A.md", "text")
    page(root, "Projects/_index.md", "p")
    page(root, "Projects/B.md", "b")
    assert move_page(session, "A", destination).new_path == "Projects/A.md"


@pytest.mark.parametrize("destination", ["", "/", "A", "A.md"])
def test_a_page_moves_to_the_root(root: Path, session: Session, destination: str) -> None:
    page(root, "Folder/A.md", "text")
    assert move_page(session, "Folder/A", destination).new_path == "A.md"


def test_pages_below_and_attachments_come_along(root: Path, session: Session) -> None:
    page(root, "W/_index.md", "w [[B]] ![](./assets/x.png)")
    page(root, "W/B.md", "b")
    page(root, "W/assets/x.png", "picture")
    moved = move_page(session, "W", "Old/V")
    assert moved.new_path == "Old/V/_index.md"
    assert files(root) == {
        "Old/V/_index.md": "w [[B]] ![](./assets/x.png)",
        "Old/V/B.md": "b",
        "Old/V/assets/x.png": "picture",
    }
    assert moved.moved == {"W/_index.md": "Old/V/_index.md", "W/B.md": "Old/V/B.md"}


def test_a_page_beside_its_directory_moves_with_it(root: Path, session: Session) -> None:
    page(root, "W.md", "w")
    page(root, "W/B.md", "b")
    assert move_page(session, "W", "X/V").new_path == "X/V.md"
    assert files(root) == {"X/V.md": "w", "X/V/B.md": "b"}


def test_a_leaf_that_gets_its_first_child_is_the_page_of_a_folder(root: Path, session: Session) -> None:
    page(root, "P.md", "see [A](A.md)")
    page(root, "A.md", "a [up](P.md)")
    page(root, "C.md", "[P](./P.md) and [[P]]")
    assert move_page(session, "A", "P/").new_path == "P/A.md"
    assert files(root) == {
        "P/_index.md": "see [A](A.md)",
        "P/A.md": "a [up](_index.md)",
        "C.md": "[P](./P/_index.md) and [[P]]",
    }


def test_a_page_that_loses_its_last_child_is_a_leaf_again(root: Path, session: Session) -> None:
    page(root, "P/_index.md", "p [A](A.md)")
    page(root, "P/A.md", "a")
    move_page(session, "P/A", "A")
    assert files(root) == {"P.md": "p [A](A.md)", "A.md": "a"}
    assert not (root / "P").exists()


def test_a_page_keeps_its_folder_while_anything_else_is_in_it(root: Path, session: Session) -> None:
    page(root, "P/_index.md", "p")
    page(root, "P/A.md", "a")
    page(root, "P/assets/x.png", "x")
    move_page(session, "P/A", "A")
    assert (root / "P/_index.md").exists()


def test_attachments_go_along_that_only_this_page_uses(root: Path, session: Session) -> None:
    page(root, "A.md", "![](./assets/own.png) ![](./assets/shared.png)")
    page(root, "B.md", "![](assets/shared.png)")
    page(root, "assets/own.png", "own")
    page(root, "assets/shared.png", "shared")
    page(root, "assets/nobody.png", "nobody's")
    page(root, "Old/assets/own.png", "another")
    move_page(session, "A", "Old/A")
    assert files(root) == {
        "Old/A.md": "![](./assets/own%20%282%29.png) ![](../assets/shared.png)",
        "B.md": "![](assets/shared.png)",
        "Old/assets/own (2).png": "own",
        "Old/assets/own.png": "another",
        "assets/shared.png": "shared",
        "assets/nobody.png": "nobody's",
    }


def test_pictures_beside_a_page_go_along_where_they_are_attachments_too(root: Path, session: Session) -> None:
    page(root, ".obsidian/app.json", '{"attachmentFolderPath": "./"}')
    page(root, "A.md", "![[own.png]] ![](own.png) ![](shared.png) ![](board.canvas)")
    page(root, "B.md", "![](shared.png)")
    for name in ("own.png", "shared.png", "board.canvas"):
        page(root, name, name)
    move_page(session, "A", "Old/A")
    assert files(root) == {
        "Old/A.md": "![[own.png]] ![](own.png) ![](../shared.png) ![](../board.canvas)",
        "B.md": "![](shared.png)",
        "Old/own.png": "own.png",
        "shared.png": "shared.png",
        "board.canvas": "board.canvas",
    }


def test_a_picture_stays_where_it_would_be_no_attachment_beside_the_moved_page(root: Path, session: Session) -> None:
    page(root, ".obsidian/app.json", "{}")
    page(root, "A.md", "![](own.png)")
    page(root, "own.png", "own")
    move_page(session, "A", "Old/A")
    assert files(root) == {"Old/A.md": "![](../own.png)", "own.png": "own"}


def test_only_the_bytes_of_links_change(root: Path, session: Session) -> None:
    linking = "\ufeff# X\r\n\r\n* [[A|the alpha]] `[[A]]`  \r\n![[A#h]] [a](A.md#x) [[Other]]\n\n\n```\n[[A]]\n```\nend"
    page(root, "A.md", "a")
    page(root, "Other.md", "o")
    (root / "X.md").write_bytes(linking.encode())
    moved = move_page(session, "A", "Deep/Beta")
    expected = linking.replace("[[A|", "[[Beta|").replace("![[A#h", "![[Beta#h").replace("(A.md", "(Deep/Beta.md")
    assert (root / "X.md").read_bytes().decode() == expected
    assert moved.links_rewritten == 3


def test_links_stay_as_they_are_if_asked(root: Path, session: Session) -> None:
    page(root, "A.md", "[x](X.md)")
    page(root, "X.md", "[[A]]")
    assert move_page(session, "A", "Deep/B", rewrite_links=False).links_rewritten == 0
    assert files(root) == {"Deep/B.md": "[x](X.md)", "X.md": "[[A]]"}


def test_a_title_that_was_the_name_is_the_new_name(root: Path, session: Session) -> None:
    page(root, "A.md", "---\ntitle: A # said\ntags: [x]\n---\n")
    page(root, "B.md", "---\ntitle: Own\n---\n")
    move_page(session, "A", "C")
    move_page(session, "B", "D")
    assert (root / "C.md").read_text() == "---\ntitle: C # said\ntags: [x]\n---\n"
    assert (root / "D.md").read_text() == "---\ntitle: Own\n---\n"


def test_another_spelling_of_the_name_is_a_rename(root: Path, session: Session) -> None:
    page(root, "alpha.md", "a")
    page(root, "beta/_index.md", "b")
    assert move_page(session, "alpha", "Alpha").new_path == "Alpha.md"
    assert move_page(session, "beta", "Beta").new_path == "Beta/_index.md"
    assert move_page(session, "Beta", "Beta").moved == {}


@pytest.mark.parametrize("destination", ["W/X", "W/B/W", "W/"])
def test_a_page_never_goes_below_itself(root: Path, session: Session, destination: str) -> None:
    page(root, "W/_index.md", "w")
    page(root, "W/B.md", "b")
    before = files(root)
    with pytest.raises(Failed) as caught:
        move_page(session, "W", destination)
    assert caught.value.code == "CYCLE"
    assert files(root) == before


@pytest.mark.parametrize("destination", ["B", "B.md", "Folder/A", "b", "Folder.md"])
def test_nothing_is_ever_overwritten(root: Path, session: Session, destination: str) -> None:
    page(root, "A/_index.md", "a")
    page(root, "B.md", "b")
    page(root, "Folder/A.md", "other")
    before = files(root)
    with pytest.raises(Failed) as caught:
        move_page(session, "A", destination)
    assert caught.value.code == "EXISTS"
    assert files(root) == before


def test_a_page_that_changed_since_it_was_read_stays(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    read_page(session, "A")
    page(root, "A.md", "theirs")
    with pytest.raises(Failed, match="modified externally"):
        move_page(session, "A", "B")
    assert files(root) == {"A.md": "theirs"}


def test_what_was_read_before_a_move_is_known_after_it(root: Path, session: Session) -> None:
    page(root, "A.md", "[x](X.md)")
    page(root, "X.md", "[[A]]")
    read_page(session, "A")
    read_page(session, "X")
    move_page(session, "A", "Deep/B")
    write_page(session, "Deep/B", "new")
    write_page(session, "X", "new")
    assert files(root) == {"Deep/B.md": "new", "X.md": "new"}


def test_a_move_is_an_event_and_so_are_the_links_it_wrote(root: Path, session: Session) -> None:
    created = create_page(session, "A")
    page(root, "X.md", "[[A]]")
    moved = move_page(session, "A", "Deep/B")
    _, (kind, second), (_, third) = events(root)
    assert kind == "PageMoved"
    assert second == {"page_id": created.page_id, "path": "Deep/B.md", "old_path": "A.md", "digest": moved.digest}
    assert third["path"] == "X.md"


def _prepare(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """A tree before a move, and after it."""
    before = {
        "P.md": f"---\nid: {new_id()}\n---\np [A](Q/A/_index.md)",
        "Q/_index.md": "q [[A]]",
        "Q/A/_index.md": "a [p](../../P.md) ![](assets/x.png)",
        "Q/A/Child.md": "child [[Q]] [p](../../P.md)",
        "Q/A/assets/x.png": "x",
        "X.md": "[[A|see]] [[Child]]",
    }
    for path, text in before.items():
        page(root, path, text)
    return before, {
        "P/_index.md": before["P.md"].replace("Q/A/_index.md", "B/_index.md"),
        "P/B/_index.md": "a [p](../_index.md) ![](assets/x.png)",
        "P/B/Child.md": "child [[Q]] [p](../_index.md)",
        "P/B/assets/x.png": "x",
        "Q.md": "q [[B]]",
        "X.md": "[[B|see]] [[Child]]",
    }


def test_a_move_that_promotes_and_demotes(root: Path, session: Session) -> None:
    _, after = _prepare(root)
    assert move_page(session, "Q/A", "P/B").links_rewritten == 5
    assert files(root) == after


def test_a_kill_at_any_call_of_a_move_leaves_all_or_nothing(tmp_path: Path) -> None:
    nothing = finished = 0
    for number in range(1, 400):
        root = tmp_path / f"run-{number}" / "acme"
        root.mkdir(parents=True)
        before, after = _prepare(root)
        if not killed_at(number, root, _move):
            break
        session = Session(Tree(root), "acme", TENANT, AGENT, "next")
        with session.writing():
            pass
        texts = files(root)
        assert texts in (before, after), f"killed at call {number}"
        nothing += texts == before
        finished += texts == after
        moves = [data for kind, data in events(root) if kind == "PageMoved" and data["path"] == "P/B/_index.md"]
        assert bool(moves) == (texts == after)
        assert [path.name for path in (root / ".mirrord/tmp").iterdir()] == ["next"]
        session.close()
    assert nothing > 10
    assert finished > 40


def test_who_writes_already_goes_on_with_the_plan_of_one_who_dies(tmp_path: Path) -> None:
    unfinished = 0
    for number in range(30, 60, 5):
        root = tmp_path / f"run-{number}" / "acme"
        root.mkdir(parents=True)
        before, after = _prepare(root)
        session = Session(Tree(root), "acme", TENANT, AGENT, "living")
        create_page(session, "Mine")
        assert killed_at(number, root, _move)
        unfinished += bool(list((root / ".mirrord/tmp").glob("*/t.plan")))
        create_page(session, "Mine")
        assert not list((root / ".mirrord/tmp").glob("*/t.plan"))
        texts = {path: text for path, text in files(root).items() if not path.startswith("Mine")}
        assert texts in (before, after), f"killed at call {number}"
        session.close()
    assert unfinished


def test_a_renamed_file_that_is_in_the_way_leaves_everything(
    root: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = _prepare(root)
    original, intrusions = kernel.rename_new, list[bool]()

    def taken(out: int, source: str, into: int, target: str) -> None:
        if target == "B" and not intrusions:
            intrusions.append(True)
            (root / "P/B").mkdir()
        original(out, source, into, target)

    monkeypatch.setattr(kernel, "rename_new", taken)
    with pytest.raises(Failed) as caught:
        move_page(session, "Q/A", "P/B")
    assert caught.value.code == "CONFLICT"
    assert files(root) == before
    assert events(root) == []


def test_a_save_amid_a_move_keeps_its_text_and_gets_the_links(
    root: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    page(root, "A.md", "a")
    page(root, "X.md", "[[A]]")
    original, saves = kernel.exchange, list[bool]()

    def saved(out: int, source: str, into: int, target: str) -> None:
        if target == "X.md" and not saves:
            saves.append(True)
            page(root, "saving", "mine, and [[A]] too").rename(root / "X.md")
        original(out, source, into, target)

    monkeypatch.setattr(kernel, "exchange", saved)
    moved = move_page(session, "A", "B")
    assert files(root) == {"B.md": "a", "X.md": "mine, and [[B]] too"}
    assert (moved.links_rewritten, moved.left) == (1, ())


def test_a_page_that_somebody_is_writing_gets_its_links_when_that_is_done(root: Path, session: Session) -> None:
    page(root, "A.md", "a")
    file = page(root, "X.md", "[[A]]").open("a")
    Timer(0.3, file.close).start()
    assert move_page(session, "A", "B").left == ()
    assert file.closed
    assert files(root) == {"B.md": "a", "X.md": "[[B]]"}


def test_a_page_that_somebody_goes_on_writing_keeps_its_links_and_is_named(
    root: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_rename, "_MAX_TRIES", 2)
    page(root, "A.md", "a")
    with page(root, "X.md", "[[A]]").open("a"):
        assert move_page(session, "A", "B").left == ("X.md",)
    assert files(root) == {"B.md": "a", "X.md": "[[A]]"}


def test_a_living_writer_is_left_alone_by_the_next(root: Path, connect: Open) -> None:
    first, other = connect(), connect()
    write_page(first, "A", "x")
    write_page(other, "B", "y")
    assert sorted(path.name for path in (root / ".mirrord/tmp").iterdir()) == ["mcp-0", "mcp-1"]


def _move(root: Path) -> None:
    session = Session(Tree(root), "acme", TENANT, AGENT, "dying")
    move_page(session, "Q/A", "P/B")
