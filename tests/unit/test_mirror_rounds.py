"""Scans of all mirrors together take a small share of a core, and each mirror has its turn."""

import pytest

from mirrord.daemon.mirror_rounds import (
    MAX_ROUND_SECONDS,
    SCAN_FACTOR,
    SCAN_SECONDS,
    TURN_FACTOR,
    TURN_SECONDS,
    seconds_between_scans,
)


def test_a_single_small_tree_is_scanned_once_a_minute() -> None:
    assert seconds_between_scans(0.01, 1) == SCAN_SECONDS


def test_many_small_trees_are_scanned_one_after_the_other_within_a_minute() -> None:
    assert seconds_between_scans(0.2, 100) * 100 == pytest.approx(SCAN_SECONDS)


@pytest.mark.parametrize("mirrors", [1, 10, 1_000])
@pytest.mark.parametrize("scan_seconds", [0.001, 0.3, 5.0, 18.0])
def test_scans_take_at_most_half_a_percent_of_the_time(scan_seconds: float, mirrors: int) -> None:
    round_seconds = seconds_between_scans(scan_seconds, mirrors) * mirrors
    assert scan_seconds / round_seconds <= 1 / SCAN_FACTOR + 1e-9


@pytest.mark.parametrize("mirrors", [1, 150, 1_000, 9_000])
def test_turns_take_at_most_half_a_percent_of_the_time_however_short_scans_are(mirrors: int) -> None:
    assert TURN_SECONDS / seconds_between_scans(0.0001 * mirrors, mirrors) <= 1 / TURN_FACTOR + 1e-9


@pytest.mark.parametrize("scan_seconds", [20.0, 1_000.0])
def test_every_tree_is_scanned_within_an_hour_whatever_scans_take(scan_seconds: float) -> None:
    assert seconds_between_scans(scan_seconds, 10) * 10 == pytest.approx(MAX_ROUND_SECONDS)


def test_a_daemon_without_mirrors_waits_for_some() -> None:
    assert seconds_between_scans(0.0, 0) == SCAN_SECONDS
