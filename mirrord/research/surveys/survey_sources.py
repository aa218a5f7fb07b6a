"""The sources of a survey, written as rows arrive."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import BinaryIO

from mirrord.domain.entry import EntryId, new_id
from mirrord.domain.event import EventType
from mirrord.domain.place import ASSETS, clean_name, name_key, unused_name
from mirrord.mirror.tree.tree_layout import SUFFIX
from mirrord.mirror.write.bulk_create import BuildDirectory
from mirrord.research.sources.original_files import Original
from mirrord.research.sources.source_kinds import (
    CREATED,
    ORIGINAL,
    SHA256,
    SOURCE,
    SOURCE_TYPE,
    TYPE,
    SourceType,
    number_of,
)
from mirrord.research.surveys import survey_columns
from mirrord.research.surveys.survey_columns import SURVEY, Column, Value
from mirrord.research.surveys.survey_table import SurveyTable

SOURCES_DIRECTORY = "sources"  # their directory in the arrival
_MAX_PART_BYTES = 400_000  # size of a source after which its answers continue in another
_MAX_LISTED_IDS = 100  # ids in one answer

RecordEvent = Callable[[EventType, Mapping[str, object]], None]


class Collation(StrEnum):
    """Grouping of answers into sources."""

    PER_COLUMN = "per_column"
    PER_ROW = "per_row"
    SINGLE = "single"


@dataclass(frozen=True, slots=True)
class Survey:
    """
    A survey to import, and its places in the tree.

    sources_directory: of its sources. cases_directory: directory of its cases, or None. file_name: name of its file in
    the tree; None: the file is too large to be kept. used_keys: keys of names that no new source may have.
    """

    name: str
    original: Original
    table: SurveyTable
    collation: Collation
    sources_directory: str
    cases_directory: str | None
    file_name: str | None
    used_keys: frozenset[str]

    @property
    def directories(self) -> tuple[str, ...]:
        """The new directories, of sources and of cases."""
        return (self.sources_directory, *([self.cases_directory] if self.cases_directory is not None else []))


class SourcePage:
    """A source being written."""

    def __init__(self, stream: BinaryIO, name: str, entry: EntryId) -> None:
        self.stream = stream
        self.name = name
        self.entry = entry
        self.size = 0
        self._state = hashlib.blake2b(digest_size=32)

    @property
    def digest(self) -> str:
        """Digest of the written bytes, in hex."""
        return self._state.hexdigest()

    def write(self, text: str) -> None:
        """Add *text*."""
        data = text.encode()
        self.size += len(data)
        self._state.update(data)
        self.stream.write(data)


def reserve_name(base_name: str, used: set[str]) -> str:
    """A name like *base_name* whose key is not in *used*; adds the key to *used*."""
    name = unused_name(clean_name(base_name, "case"), used)
    used.add(name_key(name))
    return name


def title_for(base_name: str, name: str) -> str:
    """The title for *base_name* with the file name *name*, including the number of the file name, if any."""
    title, plain = " ".join(base_name.split()), clean_name(base_name, "case")
    return title + name.removeprefix(plain) if title and name.startswith(plain) else name


class SourceWriter:
    """
    The sources of one import.

    keys: of their names and of forbidden names. ids: numbers of the first sources.
    """

    def __init__(self, survey: Survey, folder: EntryId, arrival: BuildDirectory, tell: RecordEvent) -> None:
        self.survey = survey
        self.keys = set(survey.used_keys)
        self.ids: list[int] = []
        self.count = 0
        self._folder = folder
        self._arrival = arrival
        self._tell = tell
        self._open = set[SourcePage]()
        self._created = datetime.now(UTC).isoformat(timespec="seconds")

    def begin(self, name: str) -> SourcePage:
        """Begin a source with a free name like *name*."""
        free = reserve_name(name, self.keys)
        page = SourcePage(self._arrival.open_stream(f"{SOURCES_DIRECTORY}/{free}{SUFFIX}"), free, new_id())
        self._open.add(page)
        survey = self.survey
        keys: dict[str, Value] = {"id": str(page.entry), "title": title_for(name, free), TYPE: SOURCE}
        keys |= {SOURCE_TYPE: SourceType.TEXT.value, SURVEY: survey.name}
        keys |= {ORIGINAL: f"./{ASSETS}/{survey.file_name}"} if survey.file_name is not None else {}
        page.write(
            survey_columns.front_matter_markdown({**keys, SHA256: survey.original.sha256, CREATED: self._created})
        )
        return page

    def end(self, page: SourcePage) -> None:
        """Finish a source."""
        page.stream.close()
        self._open.remove(page)
        number = number_of(page.entry)
        self.count += 1
        if len(self.ids) < _MAX_LISTED_IDS:
            self.ids.append(number)
        path = f"{self.survey.sources_directory}/{page.name}{SUFFIX}"
        facts = {"page_id": str(page.entry), "path": path, "digest": page.digest, "source_id": number}
        facts |= {"name": page.name, "source_type": SourceType.TEXT.value, "folder_id": number_of(self._folder)}
        self._tell(EventType.SOURCE_IMPORTED, {**facts, "survey": self.survey.name})

    def close(self) -> None:
        """Close all unfinished sources of an abandoned import."""
        for page in self._open:
            page.stream.close()

    def link_to_case(self, name: str) -> str | None:
        """The link from a source to a case; None without cases."""
        if self.survey.cases_directory is None:
            return None
        return survey_columns.destination_from(
            self.survey.sources_directory, f"{self.survey.cases_directory}/{name}{SUFFIX}"
        )


AnswerLinks = list[tuple[str, str, str]]  # for each answer: question, name of the source, heading in the source


class AnswerWriter:
    """Writer of answers to sources."""

    def __init__(self, sources: SourceWriter) -> None:
        self.sources = sources

    def write_row(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> AnswerLinks:
        """Write the answers of one row; return links to them. title, file: title and file name of its case."""
        raise NotImplementedError

    def end(self) -> None:
        """Finish after the last row."""


class _PerColumn(AnswerWriter):
    """One source per column, continued in further ones when long."""

    def __init__(self, sources: SourceWriter) -> None:
        super().__init__(sources)
        self._open: dict[int, SourcePage] = {}

    def write_row(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> AnswerLinks:
        links = []
        for column, text in answers:
            page = self._open_page(column)
            page.write(f"{survey_columns.heading_markdown(title, self.sources.link_to_case(file))}{text}\n\n")
            links.append((column.name, page.name, title))
        return links

    def end(self) -> None:
        for page in self._open.values():
            self.sources.end(page)

    def _open_page(self, column: Column) -> SourcePage:
        page = self._open.get(column.index)
        if page is not None and page.size > _MAX_PART_BYTES:
            self.sources.end(page)
            page = None
        if page is None:
            page = self._open[column.index] = self.sources.begin(column.name)
        return page


class _PerRow(AnswerWriter):
    """One source per row."""

    def write_row(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> AnswerLinks:
        page = self.sources.begin(title)
        target = self.sources.link_to_case(file)
        if target is not None:
            page.write(survey_columns.list_markdown([(title, target)]) + "\n")
        for column, text in answers:
            page.write(f"{survey_columns.heading_markdown(column.name)}{text}\n\n")
        self.sources.end(page)
        return [(column.name, page.name, column.name) for column, _ in answers]


class _Single(AnswerWriter):
    """One source for all rows, continued in further ones when long."""

    def __init__(self, sources: SourceWriter) -> None:
        super().__init__(sources)
        self._open_page: SourcePage | None = None

    def write_row(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> AnswerLinks:
        if self._open_page is not None and self._open_page.size > _MAX_PART_BYTES:
            self.end()
        page = self._open_page = self._open_page or self.sources.begin(self.sources.survey.name)
        page.write(survey_columns.heading_markdown(title, self.sources.link_to_case(file)))
        for column, text in answers:
            page.write(f"{survey_columns.heading_markdown(column.name, level=3)}{text}\n\n")
        return [(column.name, page.name, title) for column, _ in answers]

    def end(self) -> None:
        if self._open_page is not None:
            self.sources.end(self._open_page)
            self._open_page = None


ANSWER_WRITERS: Mapping[Collation, Callable[[SourceWriter], AnswerWriter]] = {
    Collation.PER_COLUMN: _PerColumn,
    Collation.PER_ROW: _PerRow,
    Collation.SINGLE: _Single,
}
