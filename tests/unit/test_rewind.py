"""Which side went back in time: every way in which a tree and a database can remember one another."""

import pytest

from mirrord.sync.decisions.tree_history import Counters, Rewind, find_rewind, rewind_sentence

EQUAL = Counters(tree_acks=7, row_acks=7, tree_seq=40, row_seq=40, remembered=True, same_epoch=True)


def seen(**changes: object) -> Counters:
    facts = {name: getattr(EQUAL, name) for name in Counters.__slots__}
    return Counters(**{**facts, **changes})


@pytest.mark.parametrize(
    ("now", "rewind"),
    [
        (EQUAL, Rewind.NONE),
        (seen(row_seq=99), Rewind.NONE),
        (seen(tree_acks=8), Rewind.NONE),  # a crash after the tree was told and before the row was
        (seen(tree_acks=None), Rewind.UNKNOWN),
        (seen(tree_acks=None, remembered=False, same_epoch=False), Rewind.UNKNOWN),
        (seen(tree_acks=6), Rewind.TREE),
        (seen(tree_acks=0), Rewind.TREE),
        (seen(tree_acks=0, row_acks=0), Rewind.FIRST),  # it ended before its first adoption did
        (seen(tree_acks=0, row_acks=0, same_epoch=False), Rewind.FIRST),
        (seen(tree_acks=0, row_acks=0, row_seq=39), Rewind.DATABASE),
        (seen(tree_acks=1, row_acks=0), Rewind.NONE),
        (seen(tree_acks=6, same_epoch=False), Rewind.TREE),
        (seen(tree_acks=9), Rewind.DATABASE),
        (seen(row_seq=39), Rewind.DATABASE),
        (seen(tree_acks=8, remembered=False), Rewind.DATABASE),  # only the last moments are lost
        (seen(tree_acks=9, row_seq=99), Rewind.DATABASE),  # apps went on writing since
        (seen(remembered=False), Rewind.NONE),  # it was acknowledged, so it was there: somebody removed it
        (seen(row_seq=39, tree_acks=6), Rewind.DATABASE),
        (seen(same_epoch=False), Rewind.MOVED),
    ],
)
def test_the_side_that_remembers_less_went_back(now: Counters, rewind: Rewind) -> None:
    assert find_rewind(now) is rewind


def test_only_what_may_have_lost_something_is_told() -> None:
    told_rewinds = {rewind for rewind in Rewind if rewind_sentence(rewind, 3) is not None}
    assert told_rewinds == {Rewind.TREE, Rewind.DATABASE}
    assert all("3 pages" in str(rewind_sentence(rewind, 3)) for rewind in told_rewinds)
