"""The full compare of a tree too large to be held beside its rows."""

from datetime import datetime

import pytest

from mirrord.db.content import entry_comparison
from mirrord.db.content.entry_comparison import BaseBatch
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, MirrorId, TenantId
from tests.support.mirrors import Mirror


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_comparison, "BASES_PER_BATCH", 2)


@pytest.mark.parametrize("pages", [1, 2, 3, 4])
async def test_every_base_is_told_once(mirror: Mirror, pages: int) -> None:
    mirror.write({f"{number}.md": f"{number}\n" for number in range(pages)})
    await mirror.settle()
    sides = mirror.engine.sides
    paths = await entry_comparison.load_base_paths(sides.database, sides.tenant, sides.mirror)
    assert sorted(paths) == [f"{number}.md" for number in range(pages)]


async def test_a_compare_holds_no_transaction_for_longer_than_one_batch(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write({f"{number}.md": f"{number}\n" for number in range(5)})
    await mirror.settle()
    begun_at, load_base_batch = list[datetime](), entry_comparison.load_base_batch

    async def load_and_note_begin(
        connection: Connection, tenant: TenantId, mirror_id: MirrorId, after: EntryId
    ) -> BaseBatch:
        (begin,) = await (await connection.execute("SELECT now()")).fetchone() or (None,)  # of the transaction
        assert begin is not None
        begun_at.append(begin)
        return await load_base_batch(connection, tenant, mirror_id, after)

    monkeypatch.setattr(entry_comparison, "load_base_batch", load_and_note_begin)
    await mirror.engine.compare_all()
    assert len(begun_at) == 3
    assert len(set(begun_at)) == 3


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
