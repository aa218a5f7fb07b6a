from uuid import UUID

from mirrord.domain.entry import EntryId
from mirrord.sync.adoption import Adoption
from mirrord.sync.doubts import FIRST_DELAY, LONGEST_DELAY, QUICK_ATTEMPTS, Doubts

ENTRY, OTHER = EntryId(UUID(int=1)), EntryId(UUID(int=2))


def doubts() -> Doubts:
    return Doubts(Adoption(False), lambda: None)


def test_what_cannot_be_done_is_tried_less_and_less_often() -> None:
    asked = doubts()
    delays = [asked.delay(ENTRY) for _ in range(9)]
    assert delays[:3] == [FIRST_DELAY, 2 * FIRST_DELAY, 4 * FIRST_DELAY]
    assert delays[-1] == LONGEST_DELAY
    assert asked.delay(OTHER) == FIRST_DELAY


def test_quick_attempts_make_no_later_one_wait_longer() -> None:
    asked = doubts()
    assert [asked.delay(ENTRY, at_once=True) for _ in range(QUICK_ATTEMPTS)] == [0.0] * QUICK_ATTEMPTS
    assert asked.delay(ENTRY) == FIRST_DELAY
    assert asked.delay(ENTRY, at_once=True) == 2 * FIRST_DELAY


def test_what_was_done_is_quick_again_the_next_time() -> None:
    asked = doubts()
    for _ in range(QUICK_ATTEMPTS + 2):
        asked.delay(ENTRY, at_once=True)
    asked.done(ENTRY)
    assert asked.delay(ENTRY, at_once=True) == 0.0
    assert asked.delay(ENTRY) == FIRST_DELAY
