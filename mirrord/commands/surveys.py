"""People and agents import surveys: every row a case, answers as sources, links between them; all or nothing."""

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
_CELL = 40  # characters of a cell in a preview
_CHECKED, _BUILT = 20, 95  # of a hundred parts of the work, when all rows were looked at, when all pages are written


@dataclass(frozen=True, slots=True)
class SurveyImported:
    """
    A survey that was imported.

    source_ids: of the first sources, as many as a message holds. path: the folder of its sources; cases_path: of its
    cases; None: it has none.
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
    Import a table of text in which each row is what one person answered.

    delimiter: comma, tab, semicolon, pipe, the sign itself, or auto. column_mappings: as codec.columns says.
    collation: which answers are one source: those to one question (per_column), of one row (per_row), or all (single).
    """
    with originals.taken(session, path, MOST) as original:
        table = _table(original, delimiter, column_mappings, has_header=has_header)
        seen = checked(table)
        progress(_CHECKED, 100)
        survey = _survey(session, original, table, collation)
        with session.writing() as journal:
            pass  # only opened: others may write while this one builds
        with building(session, journal, survey.directory) as load:
            pages = Pages(session, survey, load)
            pages.build(seen.count, part_of(progress, _CHECKED, _BUILT))
            with session.writing():
                _check_still_free(session, survey, pages)
                bring(session, journal, load, lines=pages.told)
        progress(100, 100)
        return _result(survey, pages, seen)


def preview_import_survey(
    session: Session,
    path: str,
    delimiter: str = "auto",
    has_header: bool = True,
    column_mappings: Sequence[Mapping[str, object]] = (),
    collation: str = "per_column",
) -> Preview:
    """What import_survey would do: all rows are looked at, the first are shown."""
    with originals.taken(session, path, MOST) as original:
        table = _table(original, delimiter, column_mappings, has_header=has_header)
        seen = checked(table)
        survey = _survey(session, original, table, collation)
    columns, count = table.columns, seen.count if survey.cases is not None else 0
    facts: dict[str, object] = {
        "name": survey.name,
        "rows": seen.count,
        "cases": count,
        "answers": sum(seen.filled.values()),
        "columns": list(table.names),
        "texts": [column.name for column in columns.texts],
        "attributes": {column.name: column.type.value for column in columns.attributes},
        "encoding": table.encoding,
        "delimiter": table.delimiter,
        "collation": survey.collation.value,
    }
    rows_of, cases_of = _counted(seen.count, "row"), _counted(count, "case")
    into = f"sources in {survey.directory}" + (f", cases in {survey.cases}" if survey.cases is not None else "")
    sentence = f"The survey {original.name!r} would be imported: {rows_of}, {cases_of}; {into}."
    lines = tuple(map(_shown, (table.names, *seen.first)))
    return Preview(sentence, facts, lines, {page_path("", survey.directory, index=True): ABSENT})


def _table(original: Original, delimiter: str, mappings: Sequence[Mapping[str, object]], *, has_header: bool) -> Table:
    if original.copy is None:
        sentence = f"{original.name!r} has {original.size} bytes; a survey has at most {MOST}."
        raise invalid(f"{CODE}/TOO_LARGE", sentence, "Split it.")
    if original.size == 0:
        raise invalid(f"{CODE}/EMPTY", f"{original.name!r} is empty.", "Choose another file.")
    if original.kind not in (Kind.TEXT, Kind.MARKDOWN):
        sentence = f"{original.name!r} is no table of text, but {original.kind.name}."
        raise invalid(f"{CODE}/NOT_A_TABLE", sentence, "Export it as CSV.")
    return opened(original.copy, delimiter, mappings, has_header=has_header)


def _survey(session: Session, original: Original, table: Table, collation: str) -> Survey:
    """What is imported. Raises Failed if that was imported before."""
    if collation not in list(Collation):
        known = ", ".join(Collation)
        raise invalid(f"{CODE}/INVALID_COLLATION", f"{collation!r} is no collation.", f"Use {known}.")
    found = holdings(session)
    _check_new(session, original, found)
    name = _name(session, PurePath(original.name).stem)
    columns = table.columns
    has_cases = columns.identifier is not None or bool(columns.attributes)
    kept = clean(original.name, "survey.csv") if original.size <= LIMIT else None
    directory = f"{top(session)}/{name}"
    names.check_place(session, page_path(directory, "x"), name, CODE)
    return Survey(
        *(name, original, table, Collation(collation), directory),
        cases=f"{DIRECTORY}/{name}" if has_cases else None,
        kept=f"{kept}.original" if kept is not None and is_temporary(kept) else kept,
        used=frozenset((*(name_key(one.name) for one in found.sources), ASSETS, INDEX)),
    )


def _check_new(session: Session, original: Original, found: Holdings) -> None:
    same = originals.same_before(session, found, original.sha256)
    if not same:
        return
    folder = same[0].folder
    where = f"in the folder {folder.name!r}" if folder is not None else f"as {same[0].name!r}"
    facts = {"source_ids": [one.number for one in same[:100]], "folder_id": folder.number if folder else None}
    sentence = f"The same file was imported before; its sources are {where}."
    raise Failed(f"{CODE}/ALREADY_IMPORTED", "conflict", sentence, "Use those, or delete them first.", facts)


def _name(session: Session, wanted: str) -> str:
    """Of the folders, which neither sources nor cases have yet."""
    used = taken(session.tree, top(session)) | taken(session.tree, DIRECTORY)
    return free_name(wanted, used)


def _check_still_free(session: Session, survey: Survey, pages: Pages) -> None:
    """Raises Failed if somebody made a source of one of these names meanwhile."""
    made = pages.sources.keys - survey.used
    for source in holdings(session).sources:
        if name_key(source.name) in made:
            raise Failed("BUSY", "busy", f"A source {source.name!r} was made meanwhile.", "Try again.")


def _result(survey: Survey, pages: Pages, seen: Checked) -> SurveyImported:
    warning = f"The file has more than {LIMIT} bytes, and is not kept beside its sources."
    return SurveyImported(
        sources_created=pages.sources.count,
        cases_created=pages.cases_count,
        rows_processed=seen.count,
        name=survey.name,
        folder_id=number_of(pages.folder),
        path=survey.directory,
        cases_path=survey.cases,
        source_ids=tuple(pages.sources.ids),
        warnings=() if survey.kept is not None else (warning,),
    )


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _shown(cells: Sequence[str]) -> str:
    """One row of a preview."""
    short = (" ".join(cell.split()) for cell in cells)
    return " | ".join(cell if len(cell) <= _CELL else f"{cell[: _CELL - 1]}…" for cell in short)
