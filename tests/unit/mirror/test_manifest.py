"""The list of an exported tree's files can be read again, by coreutils too."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import digest_of
from mirrord.errors import Damaged
from mirrord.mirror.export import export_files
from mirrord.mirror.export.export_files import Manifest

PATHS = st.text(st.sampled_from("\\\n\r/ n\x85ä日"), min_size=1, max_size=12)


@given(st.dictionaries(PATHS, st.binary(max_size=9), max_size=5))
def test_a_list_of_files_can_be_read_again(files: dict[str, bytes]) -> None:
    text = b"".join(export_files.line_of(path, digest_of(data)) for path, data in files.items())

    assert dict(export_files.parse_lines(io.BytesIO(text))) == {path: digest_of(data) for path, data in files.items()}


def test_a_torn_line_is_passed_over() -> None:
    line = export_files.line_of("A.md", digest_of(b"a"))

    assert list(export_files.parse_lines([line, export_files.line_of("B.md", digest_of(b"b"))[:-1]])) == [
        ("A.md", digest_of(b"a"))
    ]


@pytest.mark.skipif(shutil.which("b2sum") is None, reason="no coreutils")
def test_coreutils_check_the_list(tmp_path: Path) -> None:
    files = {"A.md": b"a", "Back\\slash.md": b"b", "Line\nbreak.md": b"c", "Übung (2).md": b"d"}
    for path, data in files.items():
        (tmp_path / path).write_bytes(data)
    (tmp_path / "list").write_bytes(
        b"".join(export_files.line_of(path, digest_of(data)) for path, data in files.items())
    )

    assert subprocess.run(["b2sum", "--check", "--quiet", "list"], cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "Line\nbreak.md").write_bytes(b"x")
    assert subprocess.run(["b2sum", "--check", "--status", "list"], cwd=tmp_path, check=False).returncode == 1


def test_a_manifest_can_be_read_again_and_nothing_else_is_one() -> None:
    facts = Manifest("acme", "0", 7, "2026-01-31T18:02:11+00:00", counts={"page": 2}, folders=["Work"], digest="ab")

    assert export_files.decode_manifest(export_files.encode_manifest(facts)) == facts
    for text in (
        b"",
        b"[]",
        b"{}",
        b'{"format": 2}',
        export_files.encode_manifest(facts).replace(b'"format": 1', b'"format": 2'),
    ):
        with pytest.raises(Damaged):
            export_files.decode_manifest(text)
