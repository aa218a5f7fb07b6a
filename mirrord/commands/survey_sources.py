"""The sources of a survey, written row by row, and the grouping of answers into sources."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import BinaryIO

from mirrord.codec import cases
from mirrord.codec.columns import Column, Value
from mirrord.commands.originals import Original
from mirrord.commands.tables import Table
from mirrord.domain.case import SURVEY
from mirrord.domain.entry import EntryId, new_id
from mirrord.domain.event import Type
from mirrord.domain.number import number_of
from mirrord.domain.place import ASSETS, clean, name_key, numbered
from mirrord.domain.source import CREATED, ORIGINAL, SHA256, SOURCE, SOURCE_TYPE, TYPE, SourceType
from mirrord.mirror.arrival import Arrival
from mirrord.mirror.layout import SUFFIX

BUILT = "sources"  # their directory in the arrival
_MAX_PART_BYTES = 400_000  # size of a source after which its answers continue in another
_MAX_LISTED_IDS = 100  # ids in one answer

Tell = Callable[[Type, Mapping[str, object]], None]


class Collation(StrEnum):
    """Grouping of answers into sources."""

    PER_COLUMN = "per_column"
    PER_ROW = "per_row"
    SINGLE = "single"


@dataclass(frozen=True, slots=True)
class Survey:
    """
    A survey to import, and its places in the tree.

    directory: of its sources. cases: directory of its cases, or None. kept: name of its file in the tree; None: the
    file is too large to be kept. used: keys of names that no new source may have.
    """

    name: str
    original: Original
    table: Table
    collation: Collation
    directory: str
    cases: str | None
    kept: str | None
    used: frozenset[str]


class Page:
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


def free_name(wanted: str, used: set[str]) -> str:
    """A name like *wanted* whose key is not in *used*; adds the key to *used*."""
    name = clean(wanted, "case")
    number, free = 1, name
    while name_key(free) in used:
        number += 1
        free = numbered(name, number)
    used.add(name_key(free))
    return free


def titled(wanted: str, name: str) -> str:
    """The title for *wanted* with the file name *name*, including the number of the file name, if any."""
    title, plain = " ".join(wanted.split()), clean(wanted, "case")
    return title + name.removeprefix(plain) if title and name.startswith(plain) else name


class Sources:
    """
    The sources of one import.

    keys: of their names and of forbidden names. ids: numbers of the first sources.
    """

    def __init__(self, survey: Survey, folder: EntryId, arrival: Arrival, tell: Tell) -> None:
        self.survey = survey
        self.keys = set(survey.used)
        self.ids: list[int] = []
        self.count = 0
        self._folder = folder
        self._arrival = arrival
        self._tell = tell
        self._open = set[Page]()
        self._created = datetime.now(UTC).isoformat(timespec="seconds")

    def begin(self, name: str) -> Page:
        """Begin a source with a free name like *name*."""
        free = free_name(name, self.keys)
        page = Page(self._arrival.stream(f"{BUILT}/{free}{SUFFIX}"), free, new_id())
        self._open.add(page)
        survey = self.survey
        keys: dict[str, Value] = {"id": str(page.entry), "title": titled(name, free), TYPE: SOURCE}
        keys |= {SOURCE_TYPE: SourceType.TEXT.value, SURVEY: survey.name}
        keys |= {ORIGINAL: f"./{ASSETS}/{survey.kept}"} if survey.kept is not None else {}
        page.write(cases.front_matter({**keys, SHA256: survey.original.sha256, CREATED: self._created}))
        return page

    def end(self, page: Page) -> None:
        """Finish a source."""
        page.stream.close()
        self._open.remove(page)
        number = number_of(page.entry)
        self.count += 1
        if len(self.ids) < _MAX_LISTED_IDS:
            self.ids.append(number)
        path = f"{self.survey.directory}/{page.name}{SUFFIX}"
        facts = {"page_id": str(page.entry), "path": path, "digest": page.digest, "source_id": number}
        facts |= {"name": page.name, "source_type": SourceType.TEXT.value, "folder_id": number_of(self._folder)}
        self._tell(Type.SOURCE_IMPORTED, {**facts, "survey": self.survey.name})

    def close(self) -> None:
        """Close all unfinished sources of an abandoned import."""
        for page in self._open:
            page.stream.close()

    def to_case(self, name: str) -> str | None:
        """The link from a source to a case; None without cases."""
        if self.survey.cases is None:
            return None
        ups = [".."] * (self.survey.directory.count("/") + 1)
        return cases.link([*ups, *self.survey.cases.split("/"), name + SUFFIX])


Links = list[tuple[str, str, str]]  # for each answer: question, name of the source, heading in the source


class Texts:
    """Writer of answers to sources."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def take(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> Links:
        """Write the answers of one row; return links to them. title, file: title and file name of its case."""
        raise NotImplementedError

    def end(self) -> None:
        """Finish after the last row."""


class _PerColumn(Texts):
    """One source per column, continued in further ones when long."""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._open: dict[int, Page] = {}

    def take(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> Links:
        links = []
        for column, text in answers:
            page = self._open_page(column)
            page.write(f"{cases.heading(title, self.sources.to_case(file))}{text}\n\n")
            links.append((column.name, page.name, title))
        return links

    def end(self) -> None:
        for page in self._open.values():
            self.sources.end(page)

    def _open_page(self, column: Column) -> Page:
        page = self._open.get(column.index)
        if page is not None and page.size > _MAX_PART_BYTES:
            self.sources.end(page)
            page = None
        if page is None:
            page = self._open[column.index] = self.sources.begin(column.name)
        return page


class _PerRow(Texts):
    """One source per row."""

    def take(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> Links:
        page = self.sources.begin(title)
        target = self.sources.to_case(file)
        if target is not None:
            page.write(cases.items([(title, target)]) + "\n")
        for column, text in answers:
            page.write(f"{cases.heading(column.name)}{text}\n\n")
        self.sources.end(page)
        return [(column.name, page.name, column.name) for column, _ in answers]


class _Single(Texts):
    """One source for all rows, continued in further ones when long."""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._open_page: Page | None = None

    def take(self, title: str, file: str, answers: Sequence[tuple[Column, str]]) -> Links:
        if self._open_page is not None and self._open_page.size > _MAX_PART_BYTES:
            self.end()
        page = self._open_page = self._open_page or self.sources.begin(self.sources.survey.name)
        page.write(cases.heading(title, self.sources.to_case(file)))
        for column, text in answers:
            page.write(f"{cases.heading(column.name, level=3)}{text}\n\n")
        return [(column.name, page.name, title) for column, _ in answers]

    def end(self) -> None:
        if self._open_page is not None:
            self.sources.end(self._open_page)
            self._open_page = None


TEXTS: Mapping[Collation, Callable[[Sources], Texts]] = {
    Collation.PER_COLUMN: _PerColumn,
    Collation.PER_ROW: _PerRow,
    Collation.SINGLE: _Single,
}
