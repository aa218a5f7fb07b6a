"""The command that imports a survey, all or nothing."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from mirrord.commands.core.command_plan import Plan, command, opening_journal
from mirrord.commands.core.failure import Failed, invalid_argument
from mirrord.commands.core.page_paths import taken_keys
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_batch import building_load, create_files
from mirrord.convert.file_kinds import Kind
from mirrord.domain.approval import ABSENT_DIGEST, Preview
from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.domain.long_work import Progress, ignore_progress, progress_of_part
from mirrord.domain.place import ASSETS, INDEX, clean_name, name_key
from mirrord.mirror.tree.tree_layout import is_temporary, page_path
from mirrord.mirror.write.journal import Journal
from mirrord.research.sources import original_files, source_listing
from mirrord.research.sources.original_files import Original
from mirrord.research.sources.source_kinds import number_of
from mirrord.research.sources.source_listing import Holdings, read_holdings, sources_root
from mirrord.research.surveys.survey_columns import DIRECTORY
from mirrord.research.surveys.survey_pages import SurveyPages
from mirrord.research.surveys.survey_sources import Collation, Survey, reserve_name
from mirrord.research.surveys.survey_table import (
    SURVEY_CODE,
    SurveyTable,
    TableCheck,
    TableFormat,
    check_table,
    open_table,
)

MAX_SURVEY_BYTES = 1 << 30  # bytes of a survey
DETECTED = TableFormat()
_MAX_CELL_CHARACTERS = 40  # characters of a cell in a preview
_CHECKED_PERCENT, _BUILT_PERCENT = 20, 95  # progress when all rows are checked, and when all pages are written


@dataclass(frozen=True, slots=True)
class ImportedSurvey:
    """
    An imported survey.

    source_ids: of the first sources, as many as a message holds. path: folder of its sources. cases_path: folder of
    its cases, or None.
    """

    sources_created: int
    cases_created: int
    rows_processed: int
    name: str
    folder_id: int
    path: str
    cases_path: str | None
    source_ids: tuple[int, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SurveyImport(Plan[ImportedSurvey]):
    """The import of a survey whose rows are all checked. resources: the copy of its file."""

    survey: Survey
    check: TableCheck
    progress: Progress
    resources: ExitStack

    def preview(self, session: Session) -> Preview:
        survey, check, table = self.survey, self.check, self.survey.table
        columns, count = table.columns, check.rows_count if survey.cases_directory is not None else 0
        facts: dict[str, object] = {
            "name": survey.name,
            "rows": check.rows_count,
            "cases": count,
            "answers": sum(check.text_counts.values()),
            "columns": list(table.names),
            "texts": [column.name for column in columns.texts],
            "attributes": {column.name: column.type.value for column in columns.attributes},
            "encoding": table.encoding,
            "delimiter": table.delimiter,
            "collation": survey.collation.value,
        }
        rows_of, cases_of = _count_text(check.rows_count, "row"), _count_text(count, "case")
        cases_target = f", cases in {survey.cases_directory}" if survey.cases_directory is not None else ""
        targets = f"sources in {survey.sources_directory}{cases_target}"
        sentence = f"The survey {survey.original.name!r} would be imported: {rows_of}, {cases_of}; {targets}."
        lines = tuple(map(_preview_line, (table.names, *check.first_rows)))
        pages = [page_path("", directory, index=True) for directory in survey.directories]
        return Preview(sentence, facts, lines, dict.fromkeys(pages, ABSENT_DIGEST))

    def carry_out(self, session: Session, journal: Journal) -> ImportedSurvey:
        survey, check = self.survey, self.check
        with building_load(session, journal, survey.sources_directory) as load:
            pages = SurveyPages(session, survey, load)
            pages.build(check.rows_count, progress_of_part(self.progress, _CHECKED_PERCENT, _BUILT_PERCENT))
            with session.writing():
                _check_still_free(session, survey, pages)
                create_files(session, journal, load, lines=pages.event_lines_file)
        self.progress(100, 100)
        return _result_of(survey, pages, check)

    def close(self) -> None:
        self.resources.close()


def _read_arguments(path: str, collation: str = "per_column", **table_format: Any) -> Mapping[str, object]:
    return {"path": path, "table_format": TableFormat(**table_format), "collation": collation}


@command("import_survey", inputs=("path",), is_long=True, lock=opening_journal, read_arguments=_read_arguments)
def import_survey(
    session: Session,
    path: str,
    table_format: TableFormat = DETECTED,
    collation: str = "per_column",
    *,
    progress: Progress = ignore_progress,
) -> Plan[ImportedSurvey]:
    """
    Import a table of text in which each row holds the answers of one person.

    collation: the answers that form one source: to one question (per_column), of one row (per_row), or all (single).
    """
    with ExitStack() as stack:
        original = stack.enter_context(original_files.copy_original(session, path, MAX_SURVEY_BYTES))
        table = _to_table(original, table_format)
        check = check_table(table)
        progress(_CHECKED_PERCENT, 100)
        return _SurveyImport(_to_survey(session, original, table, collation), check, progress, stack.pop_all())


def _to_table(original: Original, table_format: TableFormat) -> SurveyTable:
    if original.copy is None:
        sentence = f"{original.name!r} has {original.size} bytes; a survey has at most {MAX_SURVEY_BYTES}."
        raise invalid_argument(f"{SURVEY_CODE}/TOO_LARGE", sentence, "Split it.")
    if original.size == 0:
        raise invalid_argument(f"{SURVEY_CODE}/EMPTY", f"{original.name!r} is empty.", "Choose another file.")
    if original.kind not in (Kind.TEXT, Kind.MARKDOWN):
        sentence = f"{original.name!r} is no table of text, but {original.kind.name}."
        raise invalid_argument(f"{SURVEY_CODE}/NOT_A_TABLE", sentence, "Export it as CSV.")
    return open_table(original.copy, table_format)


def _to_survey(session: Session, original: Original, table: SurveyTable, collation: str) -> Survey:
    """The survey to import. Raises Failed if it was imported before."""
    if collation not in list(Collation):
        collations = ", ".join(Collation)
        raise invalid_argument(
            f"{SURVEY_CODE}/INVALID_COLLATION", f"{collation!r} is no collation.", f"Use {collations}."
        )
    all_holdings = read_holdings(session)
    _check_not_imported(session, original, all_holdings)
    name = _free_folder_name(session, PurePath(original.name).stem)
    columns = table.columns
    has_cases = columns.identifier is not None or bool(columns.attributes)
    file_name = clean_name(original.name, "survey.csv") if original.size <= MAX_FILE_BYTES else None
    directory = f"{sources_root(session)}/{name}"
    source_listing.check_place(session, page_path(directory, "x"), name, SURVEY_CODE)
    survey = Survey(
        name,
        original,
        table,
        Collation(collation),
        directory,
        cases_directory=f"{DIRECTORY}/{name}" if has_cases else None,
        file_name=f"{file_name}.original" if file_name is not None and is_temporary(file_name) else file_name,
        used_keys=frozenset((*(name_key(source.name) for source in all_holdings.sources), ASSETS, INDEX)),
    )
    source_listing.check_rights(session, *survey.directories)
    return survey


def _check_not_imported(session: Session, original: Original, all_holdings: Holdings) -> None:
    duplicates = original_files.find_duplicates(session, all_holdings, original.sha256)
    if not duplicates:
        return
    folder = duplicates[0].folder
    location = f"in the folder {folder.name!r}" if folder is not None else f"as {duplicates[0].name!r}"
    facts = {
        "source_ids": [source.number for source in duplicates[:100]],
        "folder_id": folder.number if folder else None,
    }
    sentence = f"The same file was imported before; its sources are {location}."
    raise Failed(f"{SURVEY_CODE}/ALREADY_IMPORTED", "conflict", sentence, "Use those, or delete them first.", facts)


def _free_folder_name(session: Session, base_name: str) -> str:
    """A folder name that is free among sources and cases."""
    used_keys = taken_keys(session.tree, sources_root(session)) | taken_keys(session.tree, DIRECTORY)
    return reserve_name(base_name, used_keys)


def _check_still_free(session: Session, survey: Survey, pages: SurveyPages) -> None:
    """Raises Failed if a source with one of the new names was created meanwhile."""
    new_keys = pages.sources.keys - survey.used_keys
    for source in read_holdings(session).sources:
        if name_key(source.name) in new_keys:
            raise Failed("BUSY", "busy", f"A source {source.name!r} was made meanwhile.", "Try again.")


def _result_of(survey: Survey, pages: SurveyPages, check: TableCheck) -> ImportedSurvey:
    warning = f"The file has more than {MAX_FILE_BYTES} bytes, and is not kept beside its sources."
    return ImportedSurvey(
        sources_created=pages.sources.count,
        cases_created=pages.cases_count,
        rows_processed=check.rows_count,
        name=survey.name,
        folder_id=number_of(pages.folder),
        path=survey.sources_directory,
        cases_path=survey.cases_directory,
        source_ids=tuple(pages.sources.ids),
        warnings=() if survey.file_name is not None else (warning,),
    )


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _preview_line(cells: Sequence[str]) -> str:
    """One row of a preview."""
    short = (" ".join(cell.split()) for cell in cells)
    return " | ".join(
        cell if len(cell) <= _MAX_CELL_CHARACTERS else f"{cell[: _MAX_CELL_CHARACTERS - 1]}…" for cell in short
    )
