"""Own changes are passed over only where no other change is before them, and nothing else was changed with them."""

import asyncio
from contextlib import suppress

from mirrord.sync.observation.own_changes import MAX_SEQS, OwnChanges


async def changed(*seqs: int) -> OwnChanges:
    own_changes = OwnChanges()
    for seq in seqs:
        await commit(own_changes, seq, entries=1, expected_entries=1)
    return own_changes


async def commit(own_changes: OwnChanges, seq: int | None, *, entries: int, expected_entries: int | None) -> None:
    async with own_changes.committing() as changes:
        changes.seq, changes.entries, changes.expected_entries = seq, entries, expected_entries


async def test_own_changes_in_a_row_are_passed_over() -> None:
    assert (await changed(5, 6, 7)).pass_over(4) == 7


async def test_a_foreign_change_before_an_own_one_is_read() -> None:
    own_changes = await changed(6, 7)
    assert own_changes.pass_over(4) == 4
    assert own_changes.pass_over(5) == 7


async def test_what_was_read_with_others_is_not_passed_over_again() -> None:
    own_changes = await changed(6)
    assert own_changes.pass_over(7) == 7
    assert own_changes.pass_over(5) == 5


async def test_a_change_of_more_entries_than_the_daemon_wrote_is_read() -> None:
    own_changes = OwnChanges()
    await commit(own_changes, 5, entries=2, expected_entries=1)
    await commit(own_changes, 5, entries=1, expected_entries=None)
    await commit(own_changes, None, entries=0, expected_entries=0)
    assert own_changes.pass_over(4) == 4


async def test_changes_that_nobody_reads_are_not_gathered_without_end() -> None:
    own_changes = await changed(*range(1, MAX_SEQS + 10))
    assert own_changes.pass_over(0) == MAX_SEQS


async def test_a_transaction_that_failed_is_no_own_change() -> None:
    own_changes = OwnChanges()
    with suppress(ValueError):
        async with own_changes.committing() as changes:
            changes.seq, changes.entries, changes.expected_entries = 5, 1, 1
            raise ValueError
    assert own_changes.pass_over(4) == 4


async def test_a_reader_waits_for_a_commit_under_way() -> None:
    own_changes = OwnChanges()
    async with own_changes.committing() as changes:
        reader = asyncio.create_task(own_changes.settle())
        await asyncio.sleep(0)
        assert not reader.done()
        changes.seq, changes.entries, changes.expected_entries = 1, 1, 1
    await reader
    assert own_changes.pass_over(0) == 1
