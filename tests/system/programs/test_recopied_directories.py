"""A directory whose name differs only in case or spelling from another, copied again and again, is one directory."""

import os
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.trees import directories, tree

NFC, NFD = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))
PICTURE = bytes(range(200))
_ENTRIES = """
WITH RECURSIVE below AS (
    SELECT id, name, digest FROM mirrord.page WHERE name = %s AND parent_id IS NULL
    UNION ALL
    SELECT p.id, p.name, p.digest FROM mirrord.page AS p JOIN below AS b ON p.parent_id = b.id
     WHERE p.deleted_at IS NULL)
SELECT id, name, digest FROM below
UNION ALL
SELECT a.id, a.name, a.digest FROM mirrord.attachment AS a JOIN below AS b ON a.parent_id = b.id
 WHERE a.deleted_at IS NULL"""


@pytest.fixture(scope="module")
def mirrord(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("recopied"), tenant="recopied", dsn=module_dsn) as started:
        started.up()
        yield started


class Source:
    """A directory that is copied again and again to the directory of its name in the tree."""

    def __init__(self, directory: Path, mirrord: Mirrord) -> None:
        self.directory, self.mirrord, self.target = directory, mirrord, mirrord.root / directory.name

    def write(self, path: str, content: str | bytes) -> None:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def copy(self) -> None:
        """The calls of rsync and Syncthing: a temporary file beside each that differs, and directories in between."""
        for file in sorted(path for path in self.directory.rglob("*") if path.is_file()):
            while not self._copy_file(file):
                pass  # mirrord renamed or removed the directory meanwhile
        self.mirrord.flush()

    def _copy_file(self, file: Path) -> bool:
        path, stat = self.target / file.relative_to(self.directory), file.stat()
        with suppress(FileNotFoundError):
            present = path.stat()
            if (present.st_size, present.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns):
                return True
        with suppress(FileNotFoundError):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{file.name}.aB3xYz")
            shutil.copyfile(file, temporary)
            os.utime(temporary, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            temporary.rename(path)
            return True
        return False

    def files(self) -> dict[str, bytes]:
        return tree(self.target)

    def entries(self) -> dict[UUID, tuple[str, bytes | None]]:
        """Every living page, folder and attachment below the target, with its name and digest."""
        rows = self.mirrord.app.execute(_ENTRIES, [self.target.name]).fetchall()
        return {entry: (name, digest) for entry, name, digest in rows}

    def copy_first(self) -> dict[str, bytes]:
        """Copy until everything is in its place, and return the files."""
        self.copy()
        number_of_files = sum(path.is_file() for path in self.directory.rglob("*"))
        eventually(lambda: len(self.files()) == number_of_files and self._is_at_rest(), "the numbers of the twins")
        return self.files()

    def _is_at_rest(self) -> bool:
        self.mirrord.flush()
        return not self.mirrord.check()


@pytest.fixture
def source(mirrord: Mirrord, tmp_path: Path) -> Source:
    directory = tmp_path / f"of-{tmp_path.name}"
    directory.mkdir()
    return Source(directory, mirrord)


@pytest.mark.parametrize(("first", "other"), [("Docs", "docs"), (NFC, NFD)], ids=["case", "spelling"])
def test_copying_again_adds_nothing(source: Source, first: str, other: str) -> None:
    for name in (first, other):
        source.write(f"{name}/a.md", f"# A\n\nThe text in {name!a}.\n")
        source.write(f"{name}/Same.md", "# Same\n\nIn both of them.\n")
        source.write(f"{name}/Deep/_index.md", f"# Deep\n\nBelow {name!a}.\n")
        source.write(f"{name}/Deep/Child.md", f"# Child\n\nDeep in {name!a}.\n")
        source.write(f"{name}/Note.md", f"# Note\n\nIts directory is beside it in {name!a}.\n")
        source.write(f"{name}/Note/Below.md", f"# Below\n\nA note in {name!a}.\n")
        source.write(f"{name}/assets/sub/picture.png", PICTURE + name.encode())
    files = source.copy_first()
    entries = source.entries()
    for _ in range(5):
        source.copy()
        assert source.files() == files
        assert source.entries() == entries
    assert {path.partition("/")[0] for path in files} in ({first, f"{other} (2)"}, {f"{first} (2)", other})
    eventually(
        lambda: {path.name for path in source.target.iterdir()} == {path.partition("/")[0] for path in files},
        "the emptied copy goes",
    )
    assert source.mirrord.check() == {}


def test_what_changes_at_the_source_arrives_in_the_twin(source: Source) -> None:
    for name in ("Docs", "docs"):
        source.write(f"{name}/a.md", f"# A\n\nThe text in {name}.\n")
        source.write(f"{name}/b.md", f"# B\n\nAnother text in {name}.\n")
        source.write(f"{name}/assets/picture.png", PICTURE + name.encode())
    files = source.copy_first()
    entries = source.entries()
    (twin,) = {path.partition("/")[0] for path in files if "(2)" in path}
    name = twin.removesuffix(" (2)")

    source.write(f"{name}/a.md", f"# A\n\nThe text in {name}, edited at the source.\n")
    source.write(f"{name}/new.md", "# New\n\nMade at the source.\n")
    source.write(f"{name}/Deep/new.md", "# Deep\n\nIn a directory made at the source.\n")
    source.write(f"{name}/assets/second.png", PICTURE * 2)
    (source.directory / name / "b.md").unlink()
    edited = files | {f"{twin}/{path}": content for path, content in _files_of(source.directory / name).items()}
    for _ in range(2):
        source.copy()
        assert source.files() == edited
    assert entries.keys() < source.entries().keys()
    assert len(source.entries()) == len(entries) + 4  # two pages, a folder, a picture

    source.write(f"{name}/new.md", "# New\n\nMade and then edited at the source.\n")
    source.write(f"{name}/Deep/new.md", "# Deep\n\nEdited, too.\n")
    edited |= {f"{twin}/{path}": content for path, content in _files_of(source.directory / name).items()}
    entries = source.entries()
    source.copy()
    assert source.files() == edited
    assert source.entries().keys() == entries.keys()

    source.write(f"{name}/assets/picture.png", PICTURE * 3)  # a picture has no versions: both are there
    for _ in range(2):
        source.copy()
        assert source.files() == edited | {f"{twin}/assets/picture (2).png": PICTURE * 3}
    assert source.mirrord.check() == {}


def _files_of(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_whatever_both_sides_wrote_can_be_found(source: Source) -> None:
    mirrord = source.mirrord
    for name in ("Docs", "docs"):
        source.write(f"{name}/a.md", f"# A\n\nThe text in {name}.\n")
    files = source.copy_first()
    (twin,) = (path for path in files if "(2)" in path)
    entries, name = source.entries(), twin.partition(" (2)")[0]
    written = [content.decode() for content in files.values()]
    for words in ("Oaks grow slowly", "Birches lose their leaves"):
        written.append(f"# {words}\n\nWritten in the tree.\n")
        save(source.target / twin, written[-1])
        mirrord.flush()
        source.copy()
        assert source.files()[twin].decode() == written[-1]
        written.append(f"{words.upper()}: so says another person elsewhere.\n")
        source.write(f"{name}/a.md", written[-1])
        source.copy()
    assert source.entries().keys() == entries.keys()
    assert set(written) <= _texts_anywhere(mirrord)


def _texts_anywhere(mirrord: Mirrord) -> set[str]:
    """What versions and the trash hold."""
    versions = mirrord.app.execute("SELECT markdown FROM mirrord.page_revision").fetchall()
    trash = (
        file.read_text("utf-8", "replace") for file in (mirrord.root / ".mirrord/trash").rglob("*") if file.is_file()
    )
    return {text for (text,) in versions} | set(trash)


def test_directories_of_people_are_no_copies(source: Source) -> None:
    mirrord, target = source.mirrord, source.target
    save(target / "Plans/a.md", "# A\n\nThe first.\n")
    save(target / "Plans (2)/b.md", "# B\n\nOf a person who numbers directories.\n")
    mirrord.flush()
    (target / "plans").mkdir()
    eventually(lambda: (target / "plans (3)").is_dir(), "the number of the directory")
    mirrord.flush()
    shutil.copy(target / "Plans (2)/b.md", target / "Plans/b.md")
    mirrord.flush()
    before = source.entries()
    assert sorted(source.files()) == ["Plans (2)/b.md", "Plans/a.md", "Plans/b.md"]

    (target / "Plans").rename(target / "plans")  # the name is free: it is a rename, not a copy of `plans (3)`
    mirrord.flush()
    assert sorted(source.files()) == ["Plans (2)/b.md", "plans/a.md", "plans/b.md"]
    assert source.entries().keys() == before.keys()
    assert {path.name for path in directories(target)} == {"Plans (2)", "plans", "plans (3)"}
