"""Imports of surveys: a case per row, answers as sources, links between them; all or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from mirrord.commands import names, originals
from mirrord.commands.bringing import bring, building
from mirrord.commands.failure import Failed, invalid
from mirrord.commands.holdings import Holdings, holdings, top
from mirrord.commands.originals import Original
from mirrord.commands.session import Session
from mirrord.commands.siblings import taken
from mirrord.commands.survey_pages import Pages
from mirrord.commands.survey_sources import Collation, Survey, free_name
from mirrord.commands.tables import CODE, Checked, Table, checked, opened
from mirrord.convert.kinds import Kind
from mirrord.domain.approval import ABSENT, Preview
from mirrord.domain.case import DIRECTORY
from mirrord.domain.number import number_of
from mirrord.domain.place import ASSETS, INDEX, clean, name_key
from mirrord.domain.progress import Progress, part_of, unobserved
from mirrord.mirror.card import LIMIT
from mirrord.mirror.layout import is_temporary, page_path

MOST = 1 << 30  # bytes of a survey
_MAX_CELL_CHARACTERS = 40  # characters of a cell in a preview
_CHECKED_PERCENT, _BUILT_PERCENT = 20, 95  # progress when all rows are checked, and when all pages are written


@dataclass(frozen=True, slots=True)
class SurveyImported:
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


def import_survey(
    session: Session,
    path: str,
    delimiter: str = "auto",
    has_header: bool = True,
    column_mappings: Sequence[Mapping[str, object]] = (),
    collation: str = "per_column",
    *,
    progress: Progress = unobserved,
) -> SurveyImported:
    """
    Import a table of text in which each row holds the answers of one person.

    delimiter: comma, tab, semicolon, pipe, the sign itself, or auto. column_mappings: see codec.columns.
    collation: the answers that form one source: to one question (per_column), of one row (per_row), or all (single).
    """
    with originals.taken(session, path, MOST) as original:
        table = _to_table(original, delimiter, column_mappings, has_header=has_header)
        check = checked(table)
        progress(_CHECKED_PERCENT, 100)
        survey = _to_survey(session, original, table, collation)
        with session.writing() as journal:
            pass  # opens the journal only; other commands may write during the build
        with building(session, journal, survey.directory) as load:
            pages = Pages(session, survey, load)
            pages.build(check.count, part_of(progress, _CHECKED_PERCENT, _BUILT_PERCENT))
            with session.writing():
                _check_still_free(session, survey, pages)
                bring(session, journal, load, lines=pages.told)
        progress(100, 100)
        return _result_of(survey, pages, check)


def preview_import_survey(
    session: Session,
    path: str,
    delimiter: str = "auto",
    has_header: bool = True,
    column_mappings: Sequence[Mapping[str, object]] = (),
    collation: str = "per_column",
) -> Preview:
    """Preview import_survey: checks all rows and shows the first."""
    with originals.taken(session, path, MOST) as original:
        table = _to_table(original, delimiter, column_mappings, has_header=has_header)
        check = checked(table)
        survey = _to_survey(session, original, table, collation)
    columns, count = table.columns, check.count if survey.cases is not None else 0
    facts: dict[str, object] = {
        "name": survey.name,
        "rows": check.count,
        "cases": count,
        "answers": sum(check.filled.values()),
        "columns": list(table.names),
        "texts": [column.name for column in columns.texts],
        "attributes": {column.name: column.type.value for column in columns.attributes},
        "encoding": table.encoding,
        "delimiter": table.delimiter,
        "collation": survey.collation.value,
    }
    rows_of, cases_of = _count_text(check.count, "row"), _count_text(count, "case")
    targets = f"sources in {survey.directory}" + (f", cases in {survey.cases}" if survey.cases is not None else "")
    sentence = f"The survey {original.name!r} would be imported: {rows_of}, {cases_of}; {targets}."
    lines = tuple(map(_preview_line, (table.names, *check.first)))
    return Preview(sentence, facts, lines, {page_path("", survey.directory, index=True): ABSENT})


def _to_table(
    original: Original, delimiter: str, mappings: Sequence[Mapping[str, object]], *, has_header: bool
) -> Table:
    if original.copy is None:
        sentence = f"{original.name!r} has {original.size} bytes; a survey has at most {MOST}."
        raise invalid(f"{CODE}/TOO_LARGE", sentence, "Split it.")
    if original.size == 0:
        raise invalid(f"{CODE}/EMPTY", f"{original.name!r} is empty.", "Choose another file.")
    if original.kind not in (Kind.TEXT, Kind.MARKDOWN):
        sentence = f"{original.name!r} is no table of text, but {original.kind.name}."
        raise invalid(f"{CODE}/NOT_A_TABLE", sentence, "Export it as CSV.")
    return opened(original.copy, delimiter, mappings, has_header=has_header)


def _to_survey(session: Session, original: Original, table: Table, collation: str) -> Survey:
    """The survey to import. Raises Failed if it was imported before."""
    if collation not in list(Collation):
        collations = ", ".join(Collation)
        raise invalid(f"{CODE}/INVALID_COLLATION", f"{collation!r} is no collation.", f"Use {collations}.")
    all_holdings = holdings(session)
    _check_not_imported(session, original, all_holdings)
    name = _free_folder_name(session, PurePath(original.name).stem)
    columns = table.columns
    has_cases = columns.identifier is not None or bool(columns.attributes)
    file_name = clean(original.name, "survey.csv") if original.size <= LIMIT else None
    directory = f"{top(session)}/{name}"
    names.check_place(session, page_path(directory, "x"), name, CODE)
    return Survey(
        *(name, original, table, Collation(collation), directory),
        cases=f"{DIRECTORY}/{name}" if has_cases else None,
        kept=f"{file_name}.original" if file_name is not None and is_temporary(file_name) else file_name,
        used=frozenset((*(name_key(source.name) for source in all_holdings.sources), ASSETS, INDEX)),
    )


def _check_not_imported(session: Session, original: Original, all_holdings: Holdings) -> None:
    duplicates = originals.same_before(session, all_holdings, original.sha256)
    if not duplicates:
        return
    folder = duplicates[0].folder
    location = f"in the folder {folder.name!r}" if folder is not None else f"as {duplicates[0].name!r}"
    facts = {
        "source_ids": [source.number for source in duplicates[:100]],
        "folder_id": folder.number if folder else None,
    }
    sentence = f"The same file was imported before; its sources are {location}."
    raise Failed(f"{CODE}/ALREADY_IMPORTED", "conflict", sentence, "Use those, or delete them first.", facts)


def _free_folder_name(session: Session, base_name: str) -> str:
    """A folder name that is free among sources and cases."""
    used_keys = taken(session.tree, top(session)) | taken(session.tree, DIRECTORY)
    return free_name(base_name, used_keys)


def _check_still_free(session: Session, survey: Survey, pages: Pages) -> None:
    """Raises Failed if a source with one of the new names was created meanwhile."""
    new_keys = pages.sources.keys - survey.used
    for source in holdings(session).sources:
        if name_key(source.name) in new_keys:
            raise Failed("BUSY", "busy", f"A source {source.name!r} was made meanwhile.", "Try again.")


def _result_of(survey: Survey, pages: Pages, check: Checked) -> SurveyImported:
    warning = f"The file has more than {LIMIT} bytes, and is not kept beside its sources."
    return SurveyImported(
        sources_created=pages.sources.count,
        cases_created=pages.cases_count,
        rows_processed=check.count,
        name=survey.name,
        folder_id=number_of(pages.folder),
        path=survey.directory,
        cases_path=survey.cases,
        source_ids=tuple(pages.sources.ids),
        warnings=() if survey.kept is not None else (warning,),
    )


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _preview_line(cells: Sequence[str]) -> str:
    """One row of a preview."""
    short = (" ".join(cell.split()) for cell in cells)
    return " | ".join(
        cell if len(cell) <= _MAX_CELL_CHARACTERS else f"{cell[: _MAX_CELL_CHARACTERS - 1]}…" for cell in short
    )
