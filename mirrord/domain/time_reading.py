"""Times as agents write them, `2026-05-01`, `2026-05-01T14:00Z`, `yesterday`, `3 days ago`, and dates of pages."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from mirrord.domain.property_conditions import read_moment
from mirrord.errors import UserError

_AGO = re.compile(r"(\d{1,5}) ?(minute|hour|day|week|month|year)s? ago$")
_DAYS = {"today": 0, "yesterday": 1}
_LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}


class TimeError(UserError):
    """A text that is no time, or one in the future."""


def read_past_time(text: str, now: datetime) -> datetime:
    """
    The time that *text* means; a day is its beginning. Raises TimeError.

    now: with the zone that texts without one mean.
    """
    try:
        moment = _read_time(text.strip(), now)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise TimeError(f"{text[:50]!r} is no time.")
    if moment > now:
        raise TimeError(f"{text[:50]!r} is in the future; it is {now.isoformat(timespec='minutes')} now.")
    return moment


def span_of(text: str, zone: tzinfo | None = UTC) -> tuple[datetime, datetime] | None:
    """The first and the last point of the date or time *text*, the same for a time; None: it is none."""
    moment = read_moment(text.strip())
    try:
        if moment is None:
            return None
        if moment.instant is None:
            return _start_of(moment.day, zone), _start_of(moment.day + timedelta(days=1), zone)
        point = datetime.fromisoformat(text.strip())
        aware = point.replace(tzinfo=zone) if point.tzinfo is None else point
        return aware, aware
    except (ValueError, OverflowError):
        return None


def _read_time(text: str, now: datetime) -> datetime | None:
    if text in _DAYS:
        return _start_of(now.date() - timedelta(days=_DAYS[text]), now.tzinfo)
    if (ago := _AGO.match(text)) is not None:
        return now - int(ago[1]) * _LENGTHS[ago[2]]
    span = span_of(text, now.tzinfo)
    return span[0] if span is not None else None


def _start_of(day: date, zone: tzinfo | None) -> datetime:
    return datetime.combine(day, time(), zone)
