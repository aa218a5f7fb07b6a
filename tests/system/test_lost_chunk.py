"""A chunk that was taken is not lost if the writes before it fail."""

import pytest

from mirrord.domain.entry import EntryId
from mirrord.errors import Fenced
from mirrord.sync import work_queue
from mirrord.sync.passes import start_pass
from tests.support.mirrors import Mirror


async def test_a_chunk_that_was_taken_when_the_lease_was_lost_is_worked_on_later(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_queue, "CHUNK_MARKS", 4)
    monkeypatch.setattr(work_queue, "MIN_READ_AHEAD_FILES", 2)
    mirror.write({"Known.md": "known\n"})
    await mirror.settle()
    (page,) = mirror.ids("Known")
    paths = [f"{number}.md" for number in range(6)]
    mirror.write(dict.fromkeys(paths, "text\n"))
    mirror.engine.queue.mark(paths, forced=True)
    await start_pass(mirror.engine.parts)
    await start_pass(mirror.engine.parts)  # new entries are being written from now on
    mirror.engine.queue.mark(entries=[EntryId(page)])
    lease, mirror.opened.sides.lease = mirror.opened.sides.lease, None
    with pytest.raises(Fenced):
        await start_pass(mirror.engine.parts)
    mirror.opened.sides.lease = lease
    await mirror.settle()
    assert len(mirror.rows()) == len(paths) + 1
