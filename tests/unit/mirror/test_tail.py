"""Reading files that only grow."""

from pathlib import Path

import pytest

from mirrord.errors import Refused
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import append_only_files as reading
from mirrord.mirror.write.append_only_files import Cursor, Tail, read_tail

PATH = "log.jsonl"


def _read(tree: Tree, cursor: Cursor | None = None) -> Tail:
    return read_tail(tree, PATH, cursor)


def test_lines_are_read_once_and_the_unfinished_one_later(tree: Tree) -> None:
    file = tree.root / PATH
    file.write_bytes(b"a\nb\nc")
    first = _read(tree)
    assert (first.lines, first.first_number, first.has_more) == ([b"a", b"b"], 1, False)
    file.write_bytes(b"a\nb\ncd\n\ne\n")
    second = _read(tree, first.cursor)
    assert (second.lines, second.first_number) == ([b"cd", b"", b"e"], 3)
    assert _read(tree, second.cursor).cursor == second.cursor


@pytest.mark.parametrize("text", [b"", b"a\n", b"x\ny\nz\nlonger\n"], ids=["emptied", "cut", "rewritten"])
def test_a_file_that_is_not_what_was_read_is_read_from_its_start(tree: Tree, text: bytes) -> None:
    file = tree.root / PATH
    file.write_bytes(b"a\nb\n")
    cursor = _read(tree).cursor
    with file.open("r+b") as stream:
        stream.truncate(0)
        stream.write(text)
    portion = _read(tree, cursor)
    assert portion.first_number == 1
    assert b"".join(line + b"\n" for line in portion.lines) == text


def test_another_file_of_the_same_bytes_is_another_file(tree: Tree) -> None:
    file, other = tree.root / PATH, tree.root / "other"
    file.write_bytes(b"a\n")
    cursor = _read(tree).cursor
    other.write_bytes(b"a\nb\n")
    other.rename(file)
    assert _read(tree, cursor).lines == [b"a", b"b"]


def test_what_is_too_long_for_a_line_is_passed_in_pieces(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK_BYTES", 8)
    (tree.root / PATH).write_bytes(b"x" * 20 + b"\na\n")
    cursor, lines, has_more = None, [], True
    while has_more:
        portion = _read(tree, cursor)
        cursor, has_more = portion.cursor, portion.has_more
        lines += portion.lines
    assert b"".join(lines[:-1]) == b"x" * 20
    assert lines[-1] == b"a"


def test_a_link_is_not_followed(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"a\n")
    (tree.root / PATH).symlink_to(tmp_path / "secret")
    with pytest.raises(Refused):
        _read(tree)
