"""What is mounted inside a tree is not mirrored, in either direction: it is a problem, and nobody else waits."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually

Mount = Callable[[Path, Path], list[str]]

MOUNTS: dict[str, Mount] = {
    "another file system": lambda _, target: ["-t", "tmpfs", "none", str(target)],
    "bind mount": lambda source, target: ["--bind", str(source), str(target)],
}


@pytest.fixture
def mirrord(admin_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, tenant=f"mounts-{tmp_path.name[-30:].lower().replace('_', '-')}", dsn=admin_dsn) as started:
        save(started.file("Sub/a.md"), "# A\n\nBelow.\n")
        save(started.file("Sub/b.md"), "# B\n\nBelow, too.\n")
        save(started.file("Other.md"), "Beside.\n")
        started.up()
        started.flush()
        yield started


@pytest.fixture(params=list(MOUNTS))
def mount(request: pytest.FixtureRequest) -> Mount:
    return MOUNTS[request.param]


@contextmanager
def mounted(mirrord: Mirrord, mount: Mount, path: str) -> Iterator[None]:
    """Something is mounted on the directory *path* of the tree, and holds a page of its own."""
    source, target = mirrord.directory / "elsewhere", mirrord.file(path)
    source.mkdir(exist_ok=True)
    target.mkdir(exist_ok=True)
    try:
        completed = subprocess.run(["mount", *mount(source, target)], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mount here")
    if completed.returncode:
        pytest.skip("may not mount")
    try:
        save(target / "mounted.md", "On the mount.\n")
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(target)], check=True)


def problem(mirrord: Mirrord, path: str) -> str | None:
    sentence: str | None = value(mirrord.app, "SELECT sentence FROM mirrord.problem WHERE path = %s", path)
    return sentence


def update(mirrord: Mirrord, name: str, text: str) -> None:
    cursor = mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = %s", [text, name])
    assert cursor.rowcount == 1


def is_synced(mirrord: Mirrord, name: str, text: str) -> None:
    """The page, which lies beside the mount, goes both ways."""
    update(mirrord, name, text)
    eventually(lambda: mirrord.text(f"{name}.md") == text, "the row's text in the file")
    save(mirrord.file(f"{name}.md"), text + "And from the file.\n")
    eventually(lambda: getattr(mirrord.page(name), "markdown", None) == text + "And from the file.\n", "the row")


def test_a_row_whose_file_is_below_a_new_mount_waits_with_a_problem(mirrord: Mirrord, mount: Mount) -> None:
    with mounted(mirrord, mount, "Sub"):
        update(mirrord, "a", "# A\n\nEdited by an app.\n")
        sentence = eventually(lambda: problem(mirrord, "Sub/a.md"), "the problem of the row")
        assert "is on 'Sub'" in sentence
        mirrord.flush(20)
        assert problem(mirrord, "Sub") == sentence.replace("'Sub/a.md'", "'Sub'", 1)
        is_synced(mirrord, "Other", "Beside, edited.\n")
        assert mirrord.page("Sub/a") is not None
        assert mirrord.page("Sub/b") is not None
        assert mirrord.page("Sub/mounted") is None
        assert [file.name for file in mirrord.file("Sub").iterdir()] == ["mounted.md"]
    mirrord.flush()
    eventually(lambda: mirrord.text("Sub/a.md") == "# A\n\nEdited by an app.\n", "the row's text in the file")
    mirrord.flush()
    assert mirrord.check() == {}
    assert value(mirrord.app, "SELECT count(*) FROM mirrord.problem") == 0


def test_files_on_a_mount_that_was_there_before_the_daemon_are_not_taken_in(mirrord: Mirrord, mount: Mount) -> None:
    mirrord.stop()
    with mounted(mirrord, mount, "Mounted"):
        mirrord.up()
        save(mirrord.file("Mounted/new.md"), "New on the mount.\n")
        mirrord.flush()
        eventually(lambda: problem(mirrord, "Mounted"), "the problem of the directory")
        assert mirrord.page("Mounted/new") is None
        assert mirrord.page("Mounted") is None
        is_synced(mirrord, "Other", "Beside the mount.\n")
        assert mirrord.text("Mounted/new.md") == "New on the mount.\n"


def test_what_an_app_puts_below_a_mount_waits_with_a_problem(mirrord: Mirrord, mount: Mount) -> None:
    folder = mirrord.page("Sub")
    assert folder is not None
    with mounted(mirrord, mount, "Sub"):
        insert = "INSERT INTO mirrord.page (name, parent_id, markdown) VALUES ('c', %s, 'New from an app.')"
        mirrord.app.execute(insert, [folder.id])
        mirrord.app.execute("UPDATE mirrord.page SET parent_id = %s WHERE name = 'Other'", [folder.id])
        eventually(lambda: problem(mirrord, "Sub/c.md"), "the problem of the new row")
        eventually(lambda: problem(mirrord, "Sub/Other.md") or problem(mirrord, "Other.md"), "that of the moved row")
        assert mirrord.text("Other.md") == "Beside.\n"
        assert [file.name for file in mirrord.file("Sub").iterdir()] == ["mounted.md"]
        mirrord.flush(20)
    mirrord.flush()
    eventually(lambda: mirrord.text("Sub/c.md") is not None, "the new row's file")
    eventually(lambda: mirrord.text("Sub/Other.md") == "Beside.\n", "the moved row's file")
    mirrord.flush()
    assert mirrord.check() == {}
    assert value(mirrord.app, "SELECT count(*) FROM mirrord.problem") == 0


def test_a_file_that_is_mounted_itself_is_a_problem(mirrord: Mirrord) -> None:
    source, target = mirrord.directory / "source.md", mirrord.file("Other.md")
    source.write_text("The file on top.\n")
    if subprocess.run(["mount", "--bind", str(source), str(target)], capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        update(mirrord, "Other", "Edited by an app.\n")
        sentence = eventually(lambda: problem(mirrord, "Other.md"), "the problem of the file")
        assert "is on 'Other.md'" in sentence
        assert source.read_text() == "The file on top.\n"
    finally:
        subprocess.run(["umount", "--lazy", str(target)], check=True)
    mirrord.flush()
    eventually(lambda: mirrord.text("Other.md") == "Edited by an app.\n", "the row's text in the file")
