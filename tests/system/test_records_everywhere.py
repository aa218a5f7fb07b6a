"""Records take part in all that pages and attachments take part in: several mirrors, adoption, halts, restores."""

import json
import shutil
from datetime import UTC, datetime

from psycopg.types.json import Jsonb

from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import differing, look_everywhere

PATH = ".records/categories/books.yaml"
TEXT = "dir: Books\npatterns:\n  - novels/**\n"


def _versions(mirrord: Mirrord) -> list[tuple[str, int]]:
    rows = mirrord.app.execute("SELECT kind || '/' || key, version FROM record WHERE deleted_at IS NULL ORDER BY 1")
    return [(name, version) for name, version in rows.fetchall()]


def test_two_mirrors_agree_on_records_byte_for_byte(first_host: Mirrord, second_host: Mirrord) -> None:
    save(first_host.file(PATH), TEXT)
    first_host.up()
    second_host.up()
    eventually(lambda: second_host.text(PATH) == TEXT, "the record on the other host")
    first_host.stop()
    second_host.stop()
    save(first_host.file(PATH), TEXT.replace("dir: Books", "dir: Of here"))
    save(second_host.file(PATH), TEXT + "description: of there\n")
    second_host.file(".records/events").mkdir()
    second_host.file(".records/events/2026-01-31.there.jsonl").write_bytes(b"")
    first_host.up()
    second_host.up()
    both = TEXT.replace("dir: Books", "dir: Of here") + "description: of there\n"
    for mirrord in (first_host, second_host):
        eventually(lambda mirrord=mirrord: mirrord.text(PATH) == both, "both edits on both hosts")  # type: ignore[misc]
        look_everywhere(mirrord)
        assert differing(mirrord) == []
    second_host.file(PATH).unlink()
    eventually(lambda: not first_host.file(PATH).exists(), "the deletion on the other host")
    assert not first_host.file(".records/events").exists()


def test_a_tree_nobody_knows_is_adopted_with_its_records(first_host: Mirrord) -> None:
    save(first_host.file("Page.md"), "a page\n")
    save(first_host.file(PATH), TEXT)
    first_host.up()
    look_everywhere(first_host)
    first_host.app.execute("UPDATE record SET data = data || %s", [Jsonb({"description": "newer"})])
    eventually(lambda: "newer" in (first_host.text(PATH) or ""), "the app's change")
    look_everywhere(first_host)
    before = _versions(first_host)
    first_host.stop()
    shutil.rmtree(first_host.root / ".mirrord")
    save(first_host.file(PATH), TEXT)  # an older version: stale, not an edit
    first_host.up()
    eventually(lambda: "newer" in (first_host.text(PATH) or ""), "the newer text again")
    look_everywhere(first_host)
    assert _versions(first_host) == before
    assert differing(first_host) == []


def test_many_records_gone_at_once_halt_and_come_back(first_host: Mirrord) -> None:
    save(first_host.file("Page.md"), "a page\n")
    for number in range(30):
        save(first_host.file(f".records/categories/c{number}.yaml"), f"dir: D{number}\n")
    first_host.up()
    look_everywhere(first_host)
    shutil.rmtree(first_host.file(".records/categories"))
    halt = eventually(
        lambda: first_host.app.execute("SELECT id FROM halt WHERE closed_at IS NULL").fetchone(), "the halt"
    )
    assert len(_versions(first_host)) == 30
    assert first_host.run("resume", str(halt[0]), "--discard").returncode == 0
    eventually(lambda: first_host.text(".records/categories/c29.yaml") == "dir: D29\n", "the files again")
    look_everywhere(first_host)
    assert differing(first_host) == []


def test_removing_all_that_is_seen_halts_although_records_are_left(first_host: Mirrord) -> None:
    for name in ("One.md", "Two.md", PATH):
        save(first_host.file(name), "dir: A\n")
    first_host.up()
    look_everywhere(first_host)
    for name in ("One.md", "Two.md"):
        first_host.file(name).unlink()
    row = eventually(
        lambda: first_host.app.execute("SELECT reason FROM halt WHERE closed_at IS NULL").fetchone(), "the halt"
    )
    assert row == ("root-emptied",)


def test_records_are_restored_with_everything_else(first_host: Mirrord) -> None:
    save(first_host.file(PATH), TEXT)
    first_host.up()
    look_everywhere(first_host)
    moment = datetime.now(UTC).isoformat()
    first_host.app.execute("UPDATE record SET data = '{}'")
    first_host.app.execute("INSERT INTO record (kind, key, data) VALUES ('collection', 'newer', '{}')")
    eventually(lambda: first_host.text(PATH) == "", "the app's change")
    first_host.app.execute("DELETE FROM record WHERE key = 'books'")
    eventually(lambda: not first_host.file(PATH).exists(), "the deletion")
    completed = first_host.run("restore-all", "--at", moment, "--delete-newer", "--yes")
    assert completed.returncode == 0, completed.stderr
    eventually(lambda: first_host.text(PATH) == TEXT, "the text of then")
    eventually(lambda: not first_host.file(".records/collections/newer.yaml").exists(), "the end of what is newer")
    look_everywhere(first_host)
    assert differing(first_host) == []
    assert json.loads(first_host.run("status", "--json").stdout)["tenants"][0]["records"] == 1
