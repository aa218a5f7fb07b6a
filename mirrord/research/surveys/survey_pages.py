"""All pages of a survey, built row by row."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from mirrord.commands.core import command_events
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_batch import Load
from mirrord.domain.entry import new_id
from mirrord.domain.event import EventType
from mirrord.domain.long_work import Progress
from mirrord.domain.place import ASSETS
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX
from mirrord.research.sources.source_kinds import SHA256, TYPE, number_of
from mirrord.research.surveys import survey_columns
from mirrord.research.surveys.delimited_text import fit_to_width
from mirrord.research.surveys.survey_columns import ATTRIBUTES, CASE, SURVEY, Value
from mirrord.research.surveys.survey_sources import (
    ANSWER_WRITERS,
    SOURCES_DIRECTORY,
    AnswerLinks,
    AnswerWriter,
    SourceWriter,
    Survey,
    reserve_name,
)

_ROWS_PER_REPORT = 500  # rows between two reports
_CASES_DIRECTORY, _EVENTS = "cases", "told"  # names in the arrival, beside the sources


class SurveyPages:
    """
    The pages of one survey in a load.

    folder: id of the page of its folder of sources. cases_count: number of cases.
    """

    def __init__(self, session: Session, survey: Survey, load: Load) -> None:
        self._session = session
        self._survey = survey
        self._load = load
        self.folder = new_id()
        self.sources = SourceWriter(survey, self.folder, load.arrival, self._record_event)
        self.cases_count = 0
        self._case_keys = set[str]()
        self._events_file = command_events.event_lines(session, [])[0]
        self._events_stream = load.arrival.open_stream(_EVENTS)

    @property
    def event_lines_file(self) -> tuple[str, str]:
        """The event file, and the file with the lines to append to it."""
        return self._events_file, self._load.arrival.path_in_tree(_EVENTS)

    def build(self, count: int, progress: Progress) -> None:
        """Build all pages of *count* rows."""
        load, survey = self._load, self._survey
        load.arrival.make_directory(SOURCES_DIRECTORY)
        load.targets[SOURCES_DIRECTORY] = survey.sources_directory
        if survey.cases_directory is not None:
            load.arrival.make_directory(_CASES_DIRECTORY)
            load.targets[_CASES_DIRECTORY] = survey.cases_directory
        with ExitStack() as cleanup:
            cleanup.callback(self._events_stream.close)
            cleanup.callback(self.sources.close)
            self._write_folder_page()
            texts = ANSWER_WRITERS[survey.collation](self.sources)
            for number, cells in enumerate(self._checked_rows(), 1):
                self._write_row(number, count, cells, texts)
                if number % _ROWS_PER_REPORT == 0 or number == count:
                    progress(number, count)
            texts.end()
            self._record_survey(count)

    def _write_row(self, number: int, count: int, cells: Sequence[str], texts: AnswerWriter) -> None:
        columns = self._survey.table.columns
        title = cells[columns.identifier.index].strip() if columns.identifier else f"Row {number:0{len(str(count))}}"
        file = reserve_name(title, self._case_keys) if self._survey.cases_directory is not None else title
        answers = [(column, survey_columns.answer_markdown(cells[column.index])) for column in columns.texts]
        links = texts.write_row(title, file, [(column, text) for column, text in answers if text])
        if self._survey.cases_directory is not None:
            values = ((column.name, column.read_value(cells[column.index])) for column in columns.attributes)
            self._write_case(title, file, {name: value for name, value in values if value is not None}, links)

    def _write_case(self, title: str, file: str, attributes: Mapping[str, Value], links: AnswerLinks) -> None:
        entry, survey = new_id(), self._survey.name
        keys: dict[str, Value] = {"id": str(entry), "title": title, TYPE: CASE, SURVEY: survey}
        body = survey_columns.list_markdown(
            (question, self._to_source(page, heading)) for question, page, heading in links
        )
        data = (survey_columns.front_matter_markdown({**keys, ATTRIBUTES: attributes}) + body).encode()
        self._load.arrival.write(f"{_CASES_DIRECTORY}/{file}{SUFFIX}", data)
        self.cases_count += 1
        path, digest = (
            f"{self._survey.cases_directory}/{file}{SUFFIX}",
            hashlib.blake2b(data, digest_size=32).hexdigest(),
        )
        facts = {"page_id": str(entry), "path": path, "digest": digest, "name": title, "survey": survey}
        self._record_event(EventType.CASE_CREATED, facts)

    def _to_source(self, name: str, heading: str) -> str:
        """The link from a case to an answer."""
        survey = self._survey
        assert survey.cases_directory is not None
        return survey_columns.destination_from(
            survey.cases_directory, f"{survey.sources_directory}/{name}{SUFFIX}", heading
        )

    def _write_folder_page(self) -> None:
        """Write the page of the folder and the file of the survey."""
        survey, arrival = self._survey, self._load.arrival
        keys = {"id": str(self.folder), "title": survey.name, SHA256: survey.original.sha256}
        arrival.write(f"{SOURCES_DIRECTORY}/{INDEX_FILE}", survey_columns.front_matter_markdown(keys).encode())
        if survey.file_name is not None:
            assert survey.original.copy is not None
            arrival.make_directory(f"{SOURCES_DIRECTORY}/{ASSETS}")
            arrival.write(f"{SOURCES_DIRECTORY}/{ASSETS}/{survey.file_name}", survey.original.copy.read_bytes())

    def _record_survey(self, count: int) -> None:
        survey = self._survey
        facts = {"name": survey.name, "path": survey.sources_directory, "folder_id": number_of(self.folder)}
        facts |= {"page_id": str(self.folder), "cases_path": survey.cases_directory, "sha256": survey.original.sha256}
        facts |= {"sources_created": self.sources.count, "cases_created": self.cases_count, "rows_processed": count}
        attributes = {column.name: column.type.value for column in survey.table.columns.attributes}
        facts |= {"source_ids": self.sources.ids, "attributes": attributes, "collation": survey.collation.value}
        self._record_event(EventType.SURVEY_IMPORTED, facts)

    def _record_event(self, kind: EventType, data: Mapping[str, object]) -> None:
        self._events_stream.write(command_events.event_lines(self._session, [(kind, data)])[1].encode())

    def _checked_rows(self) -> Iterator[Sequence[str]]:
        for row in self._survey.table.rows():
            cells = fit_to_width(row, self._survey.table.columns.width)
            assert cells is not None  # all rows were checked
            yield cells
