"""The full compare of a tree too large to be held beside its rows."""

import pytest

from mirrord.db.content import entry_comparison
from tests.support.mirrors import Mirror


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_comparison, "BASES_PER_BATCH", 2)


@pytest.mark.parametrize("pages", [1, 2, 3, 4])
async def test_every_base_is_told_once(mirror: Mirror, pages: int) -> None:
    mirror.write({f"{number}.md": f"{number}\n" for number in range(pages)})
    await mirror.settle()
    sides = mirror.engine.sides
    async with sides.database.transaction(sides.tenant) as connection:
        bases = [
            base
            async for some in entry_comparison.load_base_batches(connection, sides.tenant, sides.mirror)
            for base in some
        ]
    assert sorted(path for _, path, _ in bases if path) == [f"{number}.md" for number in range(pages)]


async def test_what_differs_is_found_wherever_its_base_comes(mirror: Mirror) -> None:
    texts = {f"{number}.md": f"{number}\n" for number in range(5)}
    mirror.write(texts)
    await mirror.settle()
    for path in texts:  # as if each had been looked at and never carried over
        mirror.write({path: "changed\n"})
        mirror.engine.sides.looker.look_at_paths([path])
    (mirror.root / "4.md").unlink()
    mirror.engine.request_comparison()
    await mirror.settle()
    assert mirror.rows() == {str(number): "changed\n" for number in range(4)}
