from uuid import UUID

from mirrord.domain.entry import EntryId
from mirrord.sync.decisions.tree_history import Adoption
from mirrord.sync.observation.retries import FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS, MAX_QUICK_ATTEMPTS, Retries

ENTRY, OTHER = EntryId(UUID(int=1)), EntryId(UUID(int=2))


def doubts() -> Retries:
    return Retries(Adoption(False), lambda: None)


def test_what_cannot_be_done_is_tried_less_and_less_often() -> None:
    open_doubts = doubts()
    delays = [open_doubts.next_delay(ENTRY) for _ in range(9)]
    assert delays[:3] == [FIRST_DELAY_SECONDS, 2 * FIRST_DELAY_SECONDS, 4 * FIRST_DELAY_SECONDS]
    assert delays[-1] == MAX_DELAY_SECONDS
    assert open_doubts.next_delay(OTHER) == FIRST_DELAY_SECONDS


def test_quick_attempts_make_no_later_one_wait_longer() -> None:
    open_doubts = doubts()
    assert [open_doubts.next_delay(ENTRY, at_once=True) for _ in range(MAX_QUICK_ATTEMPTS)] == [
        0.0
    ] * MAX_QUICK_ATTEMPTS
    assert open_doubts.next_delay(ENTRY) == FIRST_DELAY_SECONDS
    assert open_doubts.next_delay(ENTRY, at_once=True) == 2 * FIRST_DELAY_SECONDS


def test_what_was_done_is_quick_again_the_next_time() -> None:
    open_doubts = doubts()
    for _ in range(MAX_QUICK_ATTEMPTS + 2):
        open_doubts.next_delay(ENTRY, at_once=True)
    open_doubts.note_success(ENTRY)
    assert open_doubts.next_delay(ENTRY, at_once=True) == 0.0
    assert open_doubts.next_delay(ENTRY) == FIRST_DELAY_SECONDS
