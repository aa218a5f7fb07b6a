"""Two files whose names differ only in case or spelling, copied into a tree again and again, are two pages."""

import os
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.trees import tree

NFC, NFD = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))
NAMES = pytest.mark.parametrize(
    ("first_name", "other"), [("README", "Readme"), (NFC, NFD)], ids=["differing in case", "NFC and NFD"]
)
BROUGHT = {"README": "# One\n\nThe first of the two.\n", "Readme": "# Other\n\nThe second of the two.\n"}


@pytest.fixture
def mirrord(admin_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    name = f"twins-{tmp_path.name[-40:].lower().replace('_', '-')}".rstrip("-")
    with Near(tmp_path, tenant=name, dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    return directory


def rsync(source: Path, mirrord: Mirrord, *options: str) -> None:
    """`rsync -a` itself, or the calls it makes where it is not installed."""
    if shutil.which("rsync"):
        subprocess.run(["rsync", "-a", *options, f"{source}/", f"{mirrord.root}/"], check=True, capture_output=True)
    else:
        _copy(source, mirrord.root)
    mirrord.flush()


def _copy(source: Path, target: Path) -> None:
    for file in source.iterdir():
        destination, stat = target / file.name, file.stat()
        if destination.exists() and (destination.stat().st_size, destination.stat().st_mtime_ns) == (
            stat.st_size,
            stat.st_mtime_ns,
        ):
            continue
        fresh = target / f".{file.name}.aB3xYz"
        fresh.write_bytes(file.read_bytes())
        os.utime(fresh, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        fresh.rename(destination)


def write_both(source: Path, first_name: str, other: str) -> tuple[str, str]:
    first, second = BROUGHT.values()
    save(source / f"{first_name}.md", first)
    save(source / f"{other}.md", second)
    return first, second


def pages(mirrord: Mirrord) -> dict[UUID, tuple[str, str]]:
    """Every living page: its name and text, by its id."""
    rows = mirrord.app.execute("SELECT id, name, markdown FROM mirrord.page WHERE deleted_at IS NULL").fetchall()
    return {page: (name, text) for page, name, text in rows}


def bring(source: Path, mirrord: Mirrord) -> dict[UUID, tuple[str, str]]:
    """The pages after the first copy, when the twin has its number."""
    rsync(source, mirrord)
    eventually(lambda: any("(2)" in path for path in tree(mirrord.root)), "the twin's number")
    mirrord.flush()
    return pages(mirrord)


def all_texts(mirrord: Mirrord) -> set[str]:
    """What pages, versions and the trash hold."""
    versions = mirrord.app.execute("SELECT markdown FROM mirrord.page_revision").fetchall()
    trash = (file.read_text() for file in (mirrord.root / ".mirrord/trash").rglob("*") if file.is_file())
    return {text for (text,) in versions} | set(trash)


@NAMES
def test_copying_again_adds_no_page(mirrord: Mirrord, source: Path, first_name: str, other: str) -> None:
    texts = write_both(source, first_name, other)
    before = bring(source, mirrord)
    files = tree(mirrord.root)
    for _ in range(3):
        rsync(source, mirrord)
        assert pages(mirrord) == before
        assert tree(mirrord.root) == files
    assert sorted(text for _, text in before.values()) == sorted(texts)
    assert len(files) == 2
    assert mirrord.check() == {}
    assert value(mirrord.app, "SELECT count(*) FROM mirrord.page") == 2
    assert value(mirrord.app, "SELECT count(*) FROM mirrord.conflict") == 0


@NAMES
def test_an_edit_of_the_source_is_an_edit_of_the_twin(
    mirrord: Mirrord, source: Path, first_name: str, other: str
) -> None:
    texts = write_both(source, first_name, other)
    before = bring(source, mirrord)
    files, edited = sorted(tree(mirrord.root)), dict[str, str]()
    for number in range(3):
        for name, text in zip((first_name, other), texts, strict=True):
            edited[name] = f"{text}\nEdited at the source{'!' * number}\n"  # rsync compares sizes
            save(source / f"{name}.md", edited[name])
        rsync(source, mirrord)
        assert sorted(text for _, text in pages(mirrord).values()) == sorted(edited.values())
        assert sorted(tree(mirrord.root)) == files
    after = pages(mirrord)
    assert {page: name for page, (name, _) in after.items()} == {page: name for page, (name, _) in before.items()}
    for page, (_, text) in before.items():
        assert after[page][1].startswith(text)
    assert mirrord.check() == {}


@NAMES
def test_an_edit_of_the_twin_outlives_copies_of_the_old_text(
    mirrord: Mirrord, source: Path, first_name: str, other: str
) -> None:
    write_both(source, first_name, other)
    bring(source, mirrord)
    (twin,) = (path for path in tree(mirrord.root) if "(2)" in path)
    text = (mirrord.text(twin) or "") + "\nEdited in the tree.\n"
    save(mirrord.file(twin), text)
    mirrord.flush()
    for _ in range(3):
        rsync(source, mirrord)
        assert mirrord.text(twin) == text
        assert len(tree(mirrord.root)) == len(pages(mirrord)) == 2
    page = mirrord.page(twin.removesuffix(".md"))
    assert page is not None
    assert page.markdown == text


def test_whatever_both_sides_wrote_can_be_found(mirrord: Mirrord, source: Path) -> None:
    _, second = write_both(source, "README", "Readme")
    before = bring(source, mirrord)
    (twin,) = (path for path in tree(mirrord.root) if "(2)" in path)
    written = [second]
    for number in range(3):
        written.append(f"# Tree {number}\n\nA whole new text in the tree.\n")
        save(mirrord.file(twin), written[-1])
        mirrord.flush()
        written.append(f"# Source {number}\n\nA whole new text at the source{'!' * number}\n")
        for name in ("README", "Readme"):
            save(source / f"{name}.md", written[-1])
        rsync(source, mirrord)
        assert pages(mirrord).keys() == before.keys()
    assert set(written) <= all_texts(mirrord)
    assert mirrord.check() == {}


def test_a_file_whose_name_is_free_again_is_a_page_of_its_own(mirrord: Mirrord, source: Path) -> None:
    write_both(source, "README", "Readme")
    bring(source, mirrord)
    (first,) = (path for path in tree(mirrord.root) if "(2)" not in path)
    mirrord.file(first).unlink()
    eventually(lambda: len(pages(mirrord)) == 1, "the deletion in its row")
    save(mirrord.file("Readme.md"), "# New\n\nAnother page, called so.\n")
    mirrord.flush()
    assert sorted(name for name, _ in pages(mirrord).values()) == sorted(["Readme", twin_name(mirrord)])


def test_a_file_that_is_renamed_to_the_name_of_its_twin_stays_its_page(mirrord: Mirrord, source: Path) -> None:
    write_both(source, "README", "Readme")
    before = bring(source, mirrord)
    (path,) = (path for path in tree(mirrord.root) if "(2)" not in path)
    twin = twin_name(mirrord)
    mirrord.file(path).rename(mirrord.file(f"{twin.removesuffix(' (2)')}.md"))
    mirrord.flush()
    after = pages(mirrord)
    assert {page: text for page, (_, text) in after.items()} == {page: text for page, (_, text) in before.items()}
    assert sorted(name for name, _ in after.values()) == sorted([twin, twin.removesuffix(" (2)")])


def twin_name(mirrord: Mirrord) -> str:
    (path,) = (path for path in tree(mirrord.root) if "(2)" in path)
    return path.removesuffix(".md")


def test_a_numbered_copy_that_a_person_made_is_no_twin(mirrord: Mirrord) -> None:
    """File managers number copies, too; the one that was copied from has its name."""
    save(mirrord.file("Note.md"), "# Note\n\nCopied by a file manager.\n")
    shutil.copy(mirrord.file("Note.md"), mirrord.file("Note (2).md"))
    mirrord.flush()
    before = pages(mirrord)
    save(mirrord.file("Note.md"), "# Note\n\nEdited.\n")
    mirrord.flush()
    assert pages(mirrord).keys() == before.keys()
    assert sorted(text for _, text in pages(mirrord).values()) == sorted(
        ["# Note\n\nEdited.\n", "# Note\n\nCopied by a file manager.\n"]
    )
