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


def test_two_mirrors_agree_on_records_byte_for_byte(here: Mirrord, there: Mirrord) -> None:
    save(here.file(PATH), TEXT)
    here.up()
    there.up()
    eventually(lambda: there.text(PATH) == TEXT, "the record on the other host")
    here.stop()
    there.stop()
    save(here.file(PATH), TEXT.replace("dir: Books", "dir: Of here"))
    save(there.file(PATH), TEXT + "description: of there\n")
    there.file(".records/events").mkdir()
    there.file(".records/events/2026-01-31.there.jsonl").write_bytes(b"")
    here.up()
    there.up()
    both = TEXT.replace("dir: Books", "dir: Of here") + "description: of there\n"
    for mirrord in (here, there):
        eventually(lambda mirrord=mirrord: mirrord.text(PATH) == both, "both edits on both hosts")  # type: ignore[misc]
        look_everywhere(mirrord)
        assert differing(mirrord) == []
    there.file(PATH).unlink()
    eventually(lambda: not here.file(PATH).exists(), "the deletion on the other host")
    assert not here.file(".records/events").exists()


def test_a_tree_nobody_knows_is_adopted_with_its_records(here: Mirrord) -> None:
    save(here.file("Page.md"), "a page\n")
    save(here.file(PATH), TEXT)
    here.up()
    look_everywhere(here)
    here.app.execute("UPDATE record SET data = data || %s", [Jsonb({"description": "newer"})])
    eventually(lambda: "newer" in (here.text(PATH) or ""), "the app's change")
    look_everywhere(here)
    before = _versions(here)
    here.stop()
    shutil.rmtree(here.root / ".mirrord")
    save(here.file(PATH), TEXT)  # an older version: stale, not an edit
    here.up()
    eventually(lambda: "newer" in (here.text(PATH) or ""), "the newer text again")
    look_everywhere(here)
    assert _versions(here) == before
    assert differing(here) == []


def test_many_records_gone_at_once_halt_and_come_back(here: Mirrord) -> None:
    save(here.file("Page.md"), "a page\n")
    for number in range(30):
        save(here.file(f".records/categories/c{number}.yaml"), f"dir: D{number}\n")
    here.up()
    look_everywhere(here)
    shutil.rmtree(here.file(".records/categories"))
    found = eventually(lambda: here.app.execute("SELECT id FROM halt WHERE closed_at IS NULL").fetchone(), "the halt")
    assert len(_versions(here)) == 30
    assert here.run("resume", str(found[0]), "--discard").returncode == 0
    eventually(lambda: here.text(".records/categories/c29.yaml") == "dir: D29\n", "the files again")
    look_everywhere(here)
    assert differing(here) == []


def test_removing_all_that_is_seen_halts_although_records_are_left(here: Mirrord) -> None:
    for name in ("One.md", "Two.md", PATH):
        save(here.file(name), "dir: A\n")
    here.up()
    look_everywhere(here)
    for name in ("One.md", "Two.md"):
        here.file(name).unlink()
    row = eventually(lambda: here.app.execute("SELECT reason FROM halt WHERE closed_at IS NULL").fetchone(), "the halt")
    assert row == ("root-emptied",)


def test_records_are_restored_with_everything_else(here: Mirrord) -> None:
    save(here.file(PATH), TEXT)
    here.up()
    look_everywhere(here)
    moment = datetime.now(UTC).isoformat()
    here.app.execute("UPDATE record SET data = '{}'")
    here.app.execute("INSERT INTO record (kind, key, data) VALUES ('collection', 'newer', '{}')")
    eventually(lambda: here.text(PATH) == "", "the app's change")
    here.app.execute("DELETE FROM record WHERE key = 'books'")
    eventually(lambda: not here.file(PATH).exists(), "the deletion")
    done = here.run("restore-all", "--at", moment, "--delete-newer", "--yes")
    assert done.returncode == 0, done.stderr
    eventually(lambda: here.text(PATH) == TEXT, "the text of then")
    eventually(lambda: not here.file(".records/collections/newer.yaml").exists(), "the end of what is newer")
    look_everywhere(here)
    assert differing(here) == []
    assert json.loads(here.run("status", "--json").stdout)["tenants"][0]["records"] == 1
