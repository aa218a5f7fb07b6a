"""How a graph of Logseq calls its days, by its own configuration."""

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.dialect import USUAL_DAYS, DayFormats
from mirrord.markdown.logseq_days import day_of_file, read_day_formats, title_of_day

# The formats that the settings of Logseq offer, among others.
OFFERED = (
    *("MMM do, yyyy", "MMMM do, yyyy", "E, MM/dd/yyyy", "E, yyyy/MM/dd", "EEE, MM/dd/yyyy", "EEE, yyyy/MM/dd"),
    *("EEEE, MM/dd/yyyy", "EEEE, yyyy/MM/dd", "MM-dd-yyyy", "MM/dd/yyyy", "MM_dd_yyyy", "dd-MM-yyyy", "do MMM yyyy"),
    *("do MMMM yyyy", "yyyy-MM-dd", "yyyy-MM-dd EEEE", "yyyy/MM/dd", "yyyyMMdd", "yyyy_MM_dd", "yyyy年MM月dd日"),
    "EEE MMM d 'Md' yyyy",
)
CONFIG = """
;; :journal/page-title-format "in a comment"
{:meta/version 1
 :hidden ["/archived" "a \\" quote {"]
 #_:journal/page-title-format #_ "left out MM dd yyyy"
 :macros {:journal/page-title-format "deeper yyyy MM dd" "b" \\{}
 :journal/page-title-format "EEEE, dd-MM-yyyy", :journal/file-name-format
   "yyyyMMdd"  ; so
 :re #"[{" :set #{1 2} }
"""


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("MMM do, yyyy", "Jan 2nd, 2023"),
        ("EEEE, MM/dd/yyyy", "Monday, 01/02/2023"),
        ("yyyy-MM-dd EEE", "2023-01-02 Mon"),
        ("d.M.yyyy", "2.1.2023"),
        ("'Day' d 'of' MMMM yyyy ''", "Day 2 of January 2023 '"),
    ],
)
def test_a_day_is_called(title: str, expected: str) -> None:
    assert title_of_day(date(2023, 1, 2), DayFormats(title)) == expected


@pytest.mark.parametrize(
    ("file", "stem", "expected"),
    [
        ("yyyyMMdd", "20230102", date(2023, 1, 2)),
        ("yyyyMMdd", "2023_01_02", date(2023, 1, 2)),
        ("MMM do, yyyy", "Feb 3rd, 2024", date(2024, 2, 3)),
        ("dd.MM.yyyy", "31.12.2024", date(2024, 12, 31)),
        ("dd.MM.yyyy", "31x12x2024", None),
        ("dd.MM.yyyy", "31.02.2024", None),
        ("dd.MM.yyyy", "00.00.0000", None),
        ("yyyyyyyy(dd", "2023_01_02", date(2023, 1, 2)),
        ("yyyy_MM_dd", "2023_01_02 notes", None),
    ],
)
def test_a_file_is_that_of_a_day(file: str, stem: str, expected: date | None) -> None:
    assert day_of_file(stem, DayFormats(file=file)) == expected


@given(st.dates(min_value=date(1000, 1, 1)), st.sampled_from(OFFERED))
def test_a_file_that_is_called_as_its_day_is_that_of_the_day(day: date, written: str) -> None:
    formats = read_day_formats(f'{{:journal/page-title-format "{written}" :journal/file-name-format "{written}"}}')

    assert formats == DayFormats(written, written)
    assert day_of_file(title_of_day(day, formats), formats) == day


def test_formats_are_read_from_the_configuration() -> None:
    assert read_day_formats(CONFIG) == DayFormats("EEEE, dd-MM-yyyy", "yyyyMMdd")
    assert read_day_formats('{:date-formatter "dd-MM-yyyy"}') == DayFormats("dd-MM-yyyy")


@pytest.mark.parametrize(
    "config",
    [
        "",
        "{",
        "}}}",
        '"',
        "{:journal/page-title-format}",
        '{:journal/page-title-format "yyyy"}',
        '{:journal/page-title-format "yyyy yyyy MM dd"}',
        '{:journal/page-title-format ["yyyy MM dd"]}',
        '{:journal/file-name-format "yyyy MM dd' + "x" * 60 + '"}',
        '{:journal/file-name-format "yyyy\nMM dd"}',
    ],
)
def test_what_is_no_format_leaves_those_with_which_logseq_begins(config: str) -> None:
    assert read_day_formats(config) == USUAL_DAYS


@given(st.text() | st.text(st.sampled_from('{}[]()"\\;#_ :journal/file-name-format yMd\n'), max_size=80))
def test_any_configuration_is_read(config: str) -> None:
    formats = read_day_formats(config)

    day_of_file("2023_01_02", formats)
    assert title_of_day(date(2023, 1, 2), formats)


@pytest.mark.parametrize("piece", ['"\\', '\\"', "#_", "{", '"', ";"])
def test_a_long_configuration_takes_no_quadratic_time(piece: str) -> None:
    start = time.process_time()
    read_day_formats(piece * (1_000_000 // len(piece)))

    assert time.process_time() - start < 10  # generous: it takes a tenth of that
