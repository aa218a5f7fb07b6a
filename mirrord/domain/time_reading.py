"""
Times as agents and people write them, and dates of pages.

They write `2026-05-01`, `2026-05-01T14:00Z`, `14:00`, `yesterday` or `3 days ago`.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from mirrord.domain.property_conditions import read_moment
from mirrord.errors import UserError

TIME_FORMS = "2026-01-31, 2026-01-31T14:00, 14:00, yesterday or 2 hours ago"
_AGO = re.compile(r"(\d{1,5}|an?) ?(minute|hour|day|week|month|year)s? ago", re.ASCII)
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
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

    def __init__(self, sentence: str, *, is_future: bool = False) -> None:
        super().__init__(sentence)
        self.is_future = is_future


def read_past_time(text: str, now: datetime) -> datetime:
    """
    The time that *text* means; a day is its beginning, a time of day that of today. Raises TimeError.

    now: with the zone that texts without one mean.
    """
    try:
        moment = _read_time(text.strip(), now)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise TimeError(f"{text[:50]!r} is no time.")
    if moment > now:
        sentence = f"{text[:50]!r} is in the future; it is {now.isoformat(timespec='minutes')} now."
        raise TimeError(sentence, is_future=True)
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
    words = text.lower()
    if words in _DAYS:
        return _start_of(now.date() - timedelta(days=_DAYS[words]), now.tzinfo)
    if (ago := _AGO.fullmatch(words)) is not None:
        count = int(ago[1]) if ago[1].isdigit() else 1
        return now - count * _LENGTHS[ago[2]]
    if (of_day := _TIME_OF_DAY.fullmatch(text)) is not None:
        hour, minute, second = (int(part or 0) for part in of_day.groups())
        return datetime.combine(now.date(), time(hour, minute, second), now.tzinfo)
    span = span_of(text, now.tzinfo)
    return span[0] if span is not None else None


def _start_of(day: date, zone: tzinfo | None) -> datetime:
    return datetime.combine(day, time(), zone)
