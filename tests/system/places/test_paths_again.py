"""A new file at the path where a page began its life, while that page is elsewhere and its deletion waits."""

from tests.support.entries import delete
from tests.support.mirrors import Mirror

MANY = 40  # pages; so many deletions of rows halt


async def test_a_file_of_a_deleted_row_goes_to_the_trash_though_a_new_file_is_at_its_first_path(mirror: Mirror) -> None:
    mirror.write({"a2.md": "# The first\n\nIt was here before.\n"} | {f"n{n}.md": f"note {n}\n" for n in range(MANY)})
    await mirror.settle()
    (page,) = mirror.ids("a2")
    mirror.rename(("a2.md", "b2.md"))
    await mirror.settle()
    assert mirror.ids("b2") == [page]
    notes = mirror.ids(*(f"n{number}" for number in range(MANY)))
    with mirror.app.transaction():
        for entry in (*notes, page):
            delete(mirror.app, entry)
    mirror.engine.notify()
    for _ in range(20):
        await mirror.work()
    mirror.write({"a2.md": "# Another\n\nA new note of its own.\n"})
    mirror.engine.request_scan()
    for _ in range(20):
        await mirror.work()
    (halt,) = mirror.app.execute("SELECT id FROM mirrord.halt WHERE closed_at IS NULL").fetchone() or (None,)
    assert halt is not None
    mirror.app.execute("SELECT mirrord.decide_halt(%s, 'apply')", [halt])
    await mirror.settle()
    assert list(mirror.files()) == ["a2.md"]
    assert mirror.page("a2").id != page
