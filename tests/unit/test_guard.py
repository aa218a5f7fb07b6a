"""When deletions stop and a person is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.sync.decisions.guard import (
    check_all,
    check_emptied,
    check_root,
    check_space,
    describe_effects,
    weigh_deletions,
    weigh_held_contents,
)

COUNTS = st.integers(0, 10_000)


@pytest.mark.parametrize(
    ("deletions", "recent", "total", "stops"),
    [
        (25, 0, 25, False),  # a small tenant may lose everything in steps of 25
        (26, 0, 30, True),
        (26, 0, 250, True),
        (26, 0, 260, False),  # a tenth
        (100, 0, 1_000, False),
        (101, 0, 1_000, True),
        (1, 100, 1_000, True),  # many small steps count as one
        (1, 25, 10, True),
        (0, 0, 0, False),
    ],
)
def test_more_than_25_and_more_than_a_tenth_at_once_stop(deletions: int, recent: int, total: int, stops: bool) -> None:
    assert (weigh_deletions("file", deletions, recent, total) is not None) == stops


@given(COUNTS, COUNTS, COUNTS, st.integers(1, 100))
def test_a_further_deletion_never_makes_a_set_look_harmless(
    deletions: int, recent: int, total: int, further: int
) -> None:
    if weigh_deletions("row", deletions, recent, total):
        assert weigh_deletions("row", deletions + further, recent, total)
        assert weigh_deletions("row", deletions, recent + further, total)


def test_the_sentence_says_what_is_gone_and_what_stays() -> None:
    seen_in_files, seen_in_rows = weigh_deletions("file", 40, 2, 100), weigh_deletions("row", 40, 0, 100)
    assert seen_in_files is not None
    assert seen_in_rows is not None
    assert seen_in_files.reason == seen_in_rows.reason == "mass-delete"
    assert "40 of 100 entries are gone from the files (2 more" in seen_in_files.sentence
    assert "their rows stay" in seen_in_files.sentence
    assert "gone from the rows; their files stay" in seen_in_rows.sentence


@pytest.mark.parametrize(
    ("exists", "same", "reason"),
    [(True, True, None), (False, True, "root-missing"), (False, False, "root-missing"), (True, False, "root-replaced")],
)
def test_another_root_or_none_stops_everything(exists: bool, same: bool, reason: str | None) -> None:
    alarm = check_root(exists=exists, same=same)
    assert (alarm.reason if alarm else None) == reason


@pytest.mark.parametrize(
    ("found_count", "based", "stops"), [(0, 2, True), (0, 500, True), (1, 500, False), (0, 1, False), (0, 0, False)]
)
def test_a_tree_that_is_empty_all_at_once_stops(found_count: int, based: int, stops: bool) -> None:
    alarm = check_emptied(found_count, based)
    assert (alarm is not None) == stops
    assert alarm is None or (alarm.reason == "root-emptied" and str(based) in alarm.sentence)


@pytest.mark.parametrize(("losses", "based", "stops"), [(2, 2, True), (9, 9, True), (8, 9, False), (1, 1, False)])
@pytest.mark.parametrize("side", ["row", "emptied", "vanished"])
def test_a_side_of_which_nothing_would_be_left_stops_however_small(
    side: str, losses: int, based: int, stops: bool
) -> None:
    assert (check_all(side, losses, based) is not None) == stops


@pytest.mark.parametrize(
    ("side", "reason", "apply", "discard"),
    [
        ("file", "mass-delete", "30 rows are deleted", "30 files come back"),
        ("row", "mass-delete", "30 files go to the trash", "30 rows live again"),
        ("emptied", "mass-empty", "30 pages become empty", "30 files get the text"),
        ("vanished", "database-shrank", "30 files go to the trash", "30 rows are made again"),
    ],
)
def test_every_loss_says_what_each_decision_would_do(side: str, reason: str, apply: str, discard: str) -> None:
    alarm = weigh_deletions(side, 30, 0, 100)
    assert alarm is not None
    assert alarm.reason == reason
    for sentence, words in zip(describe_effects(side, 30), (apply, discard), strict=True):
        assert words in sentence


@pytest.mark.parametrize(
    ("free", "total", "stops"),
    [
        (2 << 30, 1 << 40, False),
        ((1 << 30) - 1, 1 << 40, True),
        (1 << 20, 16 << 20, False),  # a small file system is not full because it is small
        (1 << 19, 16 << 20, True),
    ],
)
def test_files_are_not_written_where_less_than_a_gibibyte_or_a_twentieth_is_free(
    free: int, total: int, stops: bool
) -> None:
    assert (check_space(free, total) is not None) == stops


@pytest.mark.parametrize(
    ("pages", "total", "is_halted", "halts"),
    [
        (25, 30, False, False),
        (26, 30, False, True),
        (26, 260, False, False),
        (27, 260, False, True),
        (1, 30, True, True),
    ],
)
def test_more_held_pages_than_the_guard_lets_pass_halt_and_further_ones_join(
    pages: int, total: int, is_halted: bool, halts: bool
) -> None:
    alarm = weigh_held_contents(pages, total, is_halted=is_halted)
    assert (alarm is not None) is halts
    assert alarm is None or alarm.sentence.startswith(f"{pages} of {total} entries are held")


def test_the_effects_of_a_halt_of_held_pages_are_told() -> None:
    apply, discard = describe_effects("content", 50)
    assert apply == "50 pages become what the app wrote; their history stays"
    assert discard.startswith("50 rows get the text of their files again; ")
