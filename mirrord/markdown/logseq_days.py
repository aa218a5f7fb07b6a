"""
Days as Logseq names them: in names of files and of pages, by the formats in `logseq/config.edn`. Pure.

The formats are those of Joda: `yyyy`, `MM`, `do` and so on. Of the configuration only the texts behind two keywords
are read; all else in it may be as Logseq takes it. What cannot be read leaves the formats with which it begins.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache

from mirrord.domain.dialect import USUAL_DAYS, DayFormats

CONFIG_PATH = "logseq/config.edn"  # in a graph
_MAX_FORMAT_CHARACTERS = 60
_TITLE_KEYS = (":journal/page-title-format", ":date-formatter")  # the second is that of older graphs
_FILE_KEY = ":journal/file-name-format"
_OTHER_FILES = ("yyyy-MM-dd", "yyyy_MM_dd")  # which Logseq takes for days in every graph
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_PART = re.compile(r"yyyy|MMMM|MMM|MM|M|do|dd|d|EEEE|EEE|EE|E|'[^']*'|.", re.DOTALL)
_PATTERNS = {
    "yyyy": r"(?P<year>[0-9]{4})",
    "MMMM": rf"(?P<month>{'|'.join(_MONTHS)})",
    "MMM": rf"(?P<month>{'|'.join(month[:3] for month in _MONTHS)})",
    "MM": r"(?P<month>[0-9]{2})",
    "M": r"(?P<month>[0-9]{1,2})",
    "do": r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)",
    "dd": r"(?P<day>[0-9]{2})",
    "d": r"(?P<day>[0-9]{1,2})",
    "EEEE": rf"(?:{'|'.join(_WEEKDAYS)})",
    **dict.fromkeys(("EEE", "EE", "E"), rf"(?:{'|'.join(day[:3] for day in _WEEKDAYS)})"),
}
_FORM = re.compile(
    r"""(?P<text>"(?P<inside>(?:\\.|[^"\\])*+)(?:"|\\?\Z)) | (?P<comment>;[^\n]*+) | (?P<ignored>\#_)
    | (?P<opening>[({\[]) | (?P<closing>[)}\]]) | (?P<atom>\\.[^\s,;"(){}\[\]]*+ | [^\s,;"(){}\[\]\\]++)""",
    re.VERBOSE | re.DOTALL,
)


def read_day_formats(config: str) -> DayFormats:
    """The formats in the text of `logseq/config.edn`; those with which Logseq begins where it names none."""
    values = _texts_by_keyword(config)
    titles = [values[key] for key in _TITLE_KEYS if _is_format(values.get(key, ""))]
    file = values.get(_FILE_KEY, "")
    return DayFormats(titles[0] if titles else USUAL_DAYS.title, file if _is_format(file) else USUAL_DAYS.file)


def _is_format(written: str) -> bool:
    """Whether *written* says year, month and day, each once."""
    parts = "".join(sorted(part[0] for part in _parts_of(written) if part in _PATTERNS and part[0] != "E"))
    return len(written) <= _MAX_FORMAT_CHARACTERS and parts == "Mdy" and written.isprintable()


def _texts_by_keyword(config: str) -> Mapping[str, str]:
    """The texts right behind keywords of the outermost map."""
    values, depth, ignored, keyword = dict[str, str](), 0, 0, ""
    for form in _FORM.finditer(config):
        depth += bool(form["opening"]) - bool(form["closing"])
        is_end = form["text"] or form["atom"] or form["closing"]
        if form["comment"] or depth > 1 or not (is_end or form["ignored"]):
            continue
        if form["ignored"]:
            ignored += 1
        elif ignored:
            ignored -= 1
        else:
            if keyword and form["text"]:
                values.setdefault(keyword, form["inside"])
            keyword = form["atom"] or ""
    return values


def day_of_file(stem: str, formats: DayFormats) -> date | None:
    """The day that a file is called by, without its ending; None: it is another page."""
    matches = (_pattern_of(written).fullmatch(stem) for written in (formats.file, *_OTHER_FILES) if _is_format(written))
    return next((day for match in matches if match and (day := _day_of(match))), None)


def _day_of(match: re.Match[str]) -> date | None:
    month = match["month"]
    number = int(month) if month.isdigit() else next(i for i, name in enumerate(_MONTHS, 1) if name[:3] == month[:3])
    try:
        return date(int(match["year"]), number, int(match["day"]))
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _pattern_of(written: str) -> re.Pattern[str]:
    return re.compile("".join(_PATTERNS.get(part) or re.escape(_literal(part)) for part in _parts_of(written)))


def _parts_of(written: str) -> Iterator[str]:
    return (match.group() for match in _PART.finditer(written))


def _literal(part: str) -> str:
    return (part[1:-1] or "'") if len(part) > 1 else part


def title_of_day(day: date, formats: DayFormats) -> str:
    """The page of *day*, as links call it."""
    return "".join(_write_part(part, day) for part in _parts_of(formats.title))


def _write_part(part: str, day: date) -> str:
    month, weekday = _MONTHS[day.month - 1], _WEEKDAYS[day.weekday()]
    written = {
        "yyyy": f"{day.year:04}",
        "MMMM": month,
        "MMM": month[:3],
        "MM": f"{day.month:02}",
        "M": str(day.month),
        "do": f"{day.day}{'th' if day.day in (11, 12, 13) else _ORDINALS.get(day.day % 10, 'th')}",
        "dd": f"{day.day:02}",
        "d": str(day.day),
        "EEEE": weekday,
        **dict.fromkeys(("EEE", "EE", "E"), weekday[:3]),
    }
    return written.get(part) or _literal(part)
