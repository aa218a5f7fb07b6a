"""A record is what it is called: a deleted one gives its file up to a new one of its name."""

from psycopg.types.json import Jsonb

from tests.support.entries import add, value
from tests.support.mirrors import Mirror

PATH = ".records/categories/red.yaml"
LIVING = "SELECT id FROM mirrord.record WHERE deleted_at IS NULL"


async def test_a_file_that_was_saved_while_its_row_was_replaced_is_of_the_new_row(mirror: Mirror) -> None:
    mirror.write({PATH: "colour: red\n"})
    await mirror.settle()
    mirror.app.execute("DELETE FROM mirrord.record")
    new = add(mirror.app, "record", kind="category", key="red", data=Jsonb({"shade": "dark"}))
    mirror.write({PATH: "colour: crimson\n"})
    await mirror.settle()
    assert value(mirror.app, LIVING) == new
    text = value(mirror.app, "SELECT text FROM mirrord.record WHERE id = %s", new)
    assert (mirror.root / PATH).read_text(encoding="utf-8") == text
    versions = value(mirror.app, "SELECT string_agg(text, '') FROM mirrord.record_revision")
    disputed = value(mirror.app, "SELECT coalesce(string_agg(file_text, ''), '') FROM mirrord.conflict")
    assert "crimson" in text + versions + disputed
    assert "dark" in text
