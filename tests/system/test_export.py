"""What `mirrord export` writes is what a mirror holds, byte for byte, whether or not there ever was one."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrord.db.database import Database, app_dsn
from mirrord.domain.entry import TenantId, digest_of
from mirrord.domain.long_work import ignore_progress
from mirrord.errors import Unavailable
from mirrord.mirror.export.export_directory import Tally
from mirrord.mirror.export.export_files import EXPORT_DIRECTORY, MANIFEST_PATH
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree import kernel
from mirrord.operations.tenant_export import export_tenant
from tests.support.commands import commands
from tests.support.entries import add, add_attachment, add_folder, add_page, change, delete, value
from tests.support.mirrors import opened_mirror
from tests.support.rows import Connection

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
INSERT_BLOB = "INSERT INTO mirrord.blob (digest, part, bytes) VALUES (%s, %s, %b) ON CONFLICT DO NOTHING"
LARGE = bytes(range(256)) * 10_000  # more than two parts of a blob

ODD: dict[str, bytes] = {
    "Twin.md": b"one\n",
    "TWIN.md": b"two\n",
    "Note.md": b"a folder note\n",
    "Note/Child.md": b"child\n",
    "Box/_index.md": "---\r\ntitle: Übung 'x'  # why\r\n---\r\nCRLF\r\n".encode(),
    "Box/assets/a/picture.png": b"\x89PNG\0\xff",
    "Box/assets/empty": b"",
    "Box/con.md": b"",
    "Cafe\u0301/Ω \\ :*?.md": "\ufeffwith a mark\n".encode(),
    "line\nbreak.md": b"no newline at the end",
    "long " + "n" * 240 + ".md": b"long\n",
    ".records/categories/reading.yaml": b"name: reading\n# kept\n",
    ".records/collections/of-mine.yaml": b"name: of-mine\ncategory: reading\n",
}


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    prepare_process()


def shown(root: Path) -> dict[str, bytes | None]:
    """What of a tree is in rows: every file with its bytes; None: a directory."""
    contents: dict[str, bytes | None] = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if not name.startswith((".mirror", ".records/events", ".records/approvals")):
            contents[name] = path.read_bytes() if path.is_file() else None
    return contents


def document(*nodes: dict[str, object]) -> str:
    """The `content` of a page."""
    return json.dumps({"type": "doc", "content": nodes})


async def exported(database: Database, tenant: TenantId, root: Path) -> Tally:
    return (await export_tenant(database, "demo", tenant, root, ignore_progress, force=False)).tally


def write(root: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def add_blob(app: Connection, data: bytes) -> bytes:
    """The bytes of an attachment, in parts, as an app inserts them; their digest."""
    for part in range(max(1, -(-len(data) // 2**20))):
        piece = data[part * 2**20 : (part + 1) * 2**20]
        app.execute(INSERT_BLOB, [digest_of(data), part, piece])
    return digest_of(data)


async def test_an_export_is_the_mirror_and_follows_it(
    database: Database, app_connection: Connection, tenant: TenantId, tmp_path: Path
) -> None:
    async with opened_mirror(database, app_connection, tmp_path / "mirror", tenant) as mirror:
        shutil.copytree(SAMPLE, mirror.root, dirs_exist_ok=True)
        write(mirror.root, ODD | {"Large/assets/large.bin": LARGE})
        (mirror.root / "Empty/Deeper").mkdir(parents=True)
        await mirror.settle()
        assert {path for path, _ in mirror.problems()} <= {*ODD, "TWIN (2).md", "Twin (2).md"}
        first = await exported(database, tenant, tmp_path / "out")
        assert first.left == []
        assert shown(tmp_path / "out") == shown(mirror.root)
        assert {"Empty/Deeper", "Box/assets/empty", "Welcome.md"} <= shown(tmp_path / "out").keys()

        mirror.rename(("Note/Child.md", "Box/Moved.md"), ("Empty/Deeper", "Deeper"))
        (mirror.root / "Note").rmdir()  # no row: a page has that name
        (mirror.root / "line\nbreak.md").unlink()
        write(mirror.root, {"Welcome.md": b"changed\n", "Large/assets/large.bin": LARGE[:-1], "New.md": b"new\n"})
        await mirror.settle()
        again = await exported(database, tenant, tmp_path / "out")

        assert (again.written, again.removed, again.left) == (4, 2, [])
        assert shown(tmp_path / "out") == shown(mirror.root)


async def test_rows_that_no_daemon_has_seen_are_exported_as_it_would_write_them(
    database: Database, app_connection: Connection, tenant: TenantId, tmp_path: Path
) -> None:
    app = app_connection
    add_page(app, title="What: title?", markdown="# Text\n")
    add_page(app, title="a/b")
    folder = add_folder(app, name="Con")
    content = json.dumps(
        {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "*"}]}]}
    )
    child = add_page(app, title="Child", parent_id=folder, icon="🌱", content=content)
    add_page(app, title="Grandchild", parent_id=child, frontmatter=json.dumps({"tags": ["a: b"]}))
    add_page(app, title=None, markdown="---\ntitle: Own\n---\n")
    add_folder(app, name="Empty")
    renamed = add_folder(app, name="Titled")
    change(app, renamed, icon="📁")
    for parent, name, data in ((None, "a?.png", b"x"), (None, "c.png", b"x"), (folder, "deep/b.bin", LARGE)):
        add_attachment(app, parent_id=parent, name=name, digest=add_blob(app, data), size=len(data))
    add(app, "record", kind="category", key="reading", data=json.dumps({"name": "reading"}))
    delete(app, add_page(app, title="Deleted"))

    outcome = await exported(database, tenant, tmp_path / "out")

    assert outcome.left == []
    assert value(app, "SELECT count(*) FROM mirrord.page WHERE markdown IS NULL AND deleted_at IS NULL") >= 5
    async with opened_mirror(database, app, tmp_path / "mirror", tenant) as mirror:
        await mirror.settle()
        assert shown(tmp_path / "out") == shown(mirror.root)
        again = await exported(database, tenant, tmp_path / "out")
        assert (again.written, again.removed, again.left) == (0, 0, [])


async def test_what_cannot_be_exported_is_told_and_all_else_is_exported(
    database: Database, app_connection: Connection, tenant: TenantId, tmp_path: Path
) -> None:
    app = app_connection
    add_page(app, name="Fine", markdown="fine\n")
    add_page(app, name="Unwritable", content=json.dumps({"type": "none"}))
    broken = add_page(app, name="Broken", markdown="---\n: [\n---\nbefore\n")
    change(app, broken, title="Cannot be put in")
    add_attachment(app, name="lost.bin", digest=digest_of(b"nobody has these"), size=16)
    wrong = digest_of(b"these")
    app.execute(INSERT_BLOB, [wrong, 0, b"those"])
    add_attachment(app, name="wrong.bin", digest=wrong, size=5)

    outcome = await exported(database, tenant, tmp_path / "out")

    assert {item.path for item in outcome.left} == {"Unwritable.md", "Broken.md", "assets/lost.bin", "assets/wrong.bin"}
    contents = shown(tmp_path / "out")
    assert ({*contents}, contents["Broken.md"]) == ({"Fine.md", "Broken.md"}, b"---\n: [\n---\nbefore\n")
    assert json.loads((tmp_path / "out" / MANIFEST_PATH).read_text())["complete"] is False


async def test_a_full_disk_is_told_and_the_next_export_goes_on(
    database: Database,
    app_connection: Connection,
    tenant: TenantId,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = [add_page(app_connection, name=f"Page {number}", markdown=f"{number}\n") for number in range(5)]
    original, calls = kernel.write, [0]

    def full(descriptor: int, data: bytes) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(descriptor, data)

    monkeypatch.setattr(kernel, "write", full)
    with pytest.raises(Unavailable, match=r"No space left.*goes on from there"):
        await exported(database, tenant, tmp_path / "out")

    assert (await exported(database, tenant, tmp_path / "out")).left == []

    texts = shown(tmp_path / "out")
    assert {path: text.decode()[-2:] for path, text in texts.items() if text} == {
        f"Page {n}.md": f"{n}\n" for n in range(5)
    }
    assert all(f"id: {page}".encode() in (texts[f"Page {n}.md"] or b"") for n, page in enumerate(pages))


def test_the_command_exports_one_tenant_and_refuses_to_mix(
    admin_dsn: str, tenant: TenantId, other_tenant: TenantId, connect: Callable[[str], Connection], tmp_path: Path
) -> None:
    add_page(connect(app_dsn(admin_dsn, tenant)), name="Mine", markdown="mine\n")
    add_page(connect(app_dsn(admin_dsn, other_tenant)), name="Secret", markdown="theirs\n")
    run = commands(admin_dsn, tenant, tmp_path)
    out = tmp_path / "out"

    first_run = run("export", str(out), "--json")

    assert (first_run.code, json.loads(first_run.out)["counts"]) == (0, {"page": 1})
    assert (list(shown(out)), (out / "Mine.md").read_text()[-6:]) == (["Mine.md"], "\nmine\n")
    second_run = run("export", str(out))
    assert (second_run.code, second_run.out.splitlines()[1]) == (0, "0 files written, 1 were there already, 0 removed.")
    (out / "Mine.md").write_text("edited")
    edited = run("export", str(out))
    assert (edited.code, "'Mine.md' is there with other bytes" in edited.err) == (1, True)
    mixed = commands(admin_dsn, other_tenant, tmp_path)("export", str(out), "--force")
    assert (mixed.code, "another tenant" in mixed.err) == (4, True)
    shutil.rmtree(out / EXPORT_DIRECTORY)
    assert run("export", str(out)).code == 4
    assert run("export", str(out), "--force").code == 1
    assert shown(out) == {"Mine.md": b"edited"}
