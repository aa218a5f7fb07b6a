"""Whose versions those are that came from a file."""

from datetime import UTC, datetime, timedelta

from mirrord.domain.attribution import Made, Told, attributed
from mirrord.domain.entry import digest_of

ONE, OTHER = digest_of(b"one"), digest_of(b"other")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ANA, BEN = {"kind": "agent", "name": "Ana"}, {"kind": "agent", "name": "Ben"}


def _at(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_an_event_tells_of_the_version_with_its_text() -> None:
    versions = [Made(1, ONE, _at(0)), Made(2, OTHER, _at(5))]
    assert attributed(versions, [Told(OTHER, _at(5), ANA)]) == {2: ANA}


def test_of_two_versions_of_one_text_an_event_tells_of_the_nearest() -> None:
    versions = [Made(1, ONE, _at(0)), Made(3, ONE, _at(60))]
    assert attributed(versions, [Told(ONE, _at(59), ANA)]) == {3: ANA}


def test_two_events_of_one_text_tell_of_two_versions() -> None:
    versions = [Made(1, ONE, _at(0)), Made(3, ONE, _at(60))]
    assert attributed(versions, [Told(ONE, _at(61), BEN), Told(ONE, _at(1), ANA)]) == {1: ANA, 3: BEN}


def test_an_event_of_a_text_that_is_no_version_tells_nothing() -> None:
    assert attributed([Made(1, ONE, _at(0))], [Told(OTHER, _at(0), ANA)]) == {}
