"""The command that makes edits in all pages which a question finds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from mirrord.commands.core.command_plan import Plan, command
from mirrord.commands.core.failure import Failed, edit_missed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.pages.edit_commands import EDIT_FORMS, parse_edit
from mirrord.commands.pages.page_filters import PageFilter, filter_pages, pages_below, read_filter
from mirrord.commands.restructure.page_changes import PageEdit, bases_of, check_size, preview_lines, rewrite_pages
from mirrord.domain.approval import Preview
from mirrord.domain.entry import digest_of
from mirrord.domain.search_query import Term, terms_of
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText
from mirrord.markdown.write.bulk_edits import BulkEdit, TaskChange, TextChange, apply_where_fitting
from mirrord.markdown.write.page_edits import Appendix, KeyEdit, Substitution
from mirrord.markdown.write.tag_edits import TagChange, is_tag
from mirrord.mirror.tree.observed_work import report_work
from mirrord.mirror.write.journal import Journal

_MAX_DIFF_CHARACTERS = 3_000
_MAX_SKIPPED = 10  # pages by name
_MORE_FORMS = " In edit_pages {find, replace, word?} means every place; {tag, replace} and {task, done} are edits too."
_ADVICE = "Name paths, or path, tag, where or query; edits that fit every page need one of them."


@dataclass(frozen=True, slots=True)
class EditedPages:
    """
    Pages after edits, or the expected ones after a dry run.

    pages: the number of changed places by path. places: of all pages together. left_out: number of pages that were
    asked for and in which nothing occurs. skipped: why pages could not be edited, by path, the first ones. diff: cut.
    written: False after a dry run.
    """

    pages: dict[str, int]
    places: int
    left_out: int
    skipped: dict[str, str]
    diff: str
    written: bool


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What edits do to pages. counts: of changed places, by path."""

    edits: Sequence[PageEdit]
    counts: dict[str, int]
    left_out: int
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class _BulkEdit(Plan[EditedPages]):
    """is_dry: the edits are only shown."""

    outcome: _Outcome
    is_dry: bool

    def preview(self, session: Session) -> Preview:
        edits, places = self.outcome.edits, sum(self.outcome.counts.values())
        facts = {"changed_pages_count": len(edits), "changed_places_count": places}
        sentence = f"{len(edits)} pages would be changed in {places} places."
        return Preview(sentence, facts, preview_lines(edits), bases_of(session, edits))

    def carry_out(self, session: Session, journal: Journal) -> EditedPages:
        if self.outcome.edits:
            rewrite_pages(session, journal, self.outcome.edits)
        for edit in self.outcome.edits:
            if edit.path in session.last_digests:
                session.memory.note_edit(edit.path, digest_of(edit.data))
        return self._result()

    def idle_result(self, session: Session) -> EditedPages | None:
        return self._result() if self.is_dry or not self.outcome.edits else None

    def _result(self) -> EditedPages:
        outcome = self.outcome
        diff = _first_diffs(outcome.edits)
        written = bool(outcome.edits) and not self.is_dry
        places = sum(outcome.counts.values())
        return EditedPages(outcome.counts, places, outcome.left_out, outcome.skipped, diff, written)


@command("edit_pages", dry_argument="dry_run")
def edit_pages(
    session: Session,
    edits: Sequence[Mapping[str, object]],
    paths: Sequence[str] = (),
    query: str | None = None,
    page_filter: Mapping[str, object] | None = None,
    *,
    dry_run: bool = False,
) -> Plan[EditedPages]:
    """
    Make *edits* in all pages that *paths* name, or that fit; each wherever it occurs.

    edits: those of edit_page, but {find, replace, word = False} everywhere in the body, outside of targets of links;
        {tag, replace}; {task, is_done}. query: words that must all occur. page_filter: arguments of read_filter().
    """
    parsed = [_parse_bulk_edit(number, edit) for number, edit in enumerate(edits, 1)]
    is_asked = bool(query or page_filter)
    if bool(paths) == is_asked and (paths or _fits_every_page(parsed)):
        sentence = "Paths and a question are given." if paths else "This would change every page."
        raise invalid_argument("INVALID_ARGUMENTS", sentence, _ADVICE)
    check_size(len(paths), 0)
    pages = _named_pages(session, paths) if paths else _pages_found(session, query, page_filter or {})
    outcome = _apply_edits(pages, parsed)
    check_size(len(outcome.edits), sum(len(edit.data) for edit in outcome.edits))
    return _BulkEdit(outcome, dry_run)


def _fits_every_page(edits: Sequence[BulkEdit]) -> bool:
    return any(isinstance(edit, Appendix | KeyEdit) for edit in edits)


def _named_pages(session: Session, paths: Sequence[str]) -> Iterator[page_writes.Page]:
    pages = [page_writes.find_page(session, path) for path in dict.fromkeys(paths)]
    yield from {page.path: page for page in pages}.values()


def _pages_found(session: Session, query: str | None, arguments: Mapping[str, object]) -> Iterator[page_writes.Page]:
    terms = terms_of(query or "", case_sensitive=False)
    page_filter: PageFilter = read_filter(**arguments)  # type: ignore[arg-type]  # checked by the tool, or by itself
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        dialect = session.dialect
        index = filter_pages(snapshot, pages_below(session, snapshot, page_filter.path), page_filter)
    for number, path in enumerate(sorted(index.summaries), 1):
        content = snapshot.read_text(path)
        report_work(number, len(index.summaries))
        if content is not None and content.text is not None and _has_all(content.text, terms):
            yield page_writes.Page(
                path, PageText(content.text, dialect), digest_of(content.text.encode()), content.stat
            )


def _has_all(text: str, terms: Sequence[Term]) -> bool:
    return all(term.pattern.search(text) is not None for term in terms)


def _apply_edits(pages: Iterator[page_writes.Page], edits: Sequence[BulkEdit]) -> _Outcome:
    changed: list[PageEdit] = []
    counts: dict[str, int] = {}
    skipped: dict[str, str] = {}
    left_out = 0
    for page in pages:
        try:
            new, count = _edit_page(page, edits)
        except Failed as failed:
            if failed.code != "INVALID_PAGE":
                raise
            if len(skipped) < _MAX_SKIPPED:
                skipped[page.path] = str(failed)
            continue
        if new.text == page.text:
            left_out += 1
            continue
        changed.append(PageEdit(page, page_writes.encode_rewrite(page, new)))
        counts[page.path] = count
    return _Outcome(changed, counts, left_out, skipped)


def _edit_page(page: page_writes.Page, edits: Sequence[BulkEdit]) -> tuple[PageText, int]:
    try:
        with translating_errors():
            new, count = apply_where_fitting(page.content, edits)
    except EditTargetError as error:
        failed = edit_missed(error)
        sentence = f"{page.path}: {failed} Nothing was changed."
        raise Failed(failed.code, failed.kind, sentence, failed.instruction, {"path": page.path}) from error
    page_writes.check_front_matter(new, page.content)
    return new, count


def _first_diffs(edits: Sequence[PageEdit]) -> str:
    """The diffs of the first pages, whole as far as they fit."""
    diffs, size = list[str](), 0
    for edit in edits:
        diff = edit.diff()
        size += len(diff)
        if size > _MAX_DIFF_CHARACTERS:
            return "\n".join([*diffs, *([] if diffs else [diff[:_MAX_DIFF_CHARACTERS]]), "… (cut)"])
        diffs.append(diff)
    return "\n".join(diffs)


def _parse_bulk_edit(number: int, edit: Mapping[str, object]) -> BulkEdit:
    bulk_form = _parse_own_form(edit) or _parse_page_form(number, edit)
    if bulk_form is None:
        raise invalid_argument("INVALID_EDIT", f"Edit {number} is of no known form.", EDIT_FORMS + _MORE_FORMS)
    if isinstance(bulk_form, KeyEdit) and "id" in bulk_form.changes:
        sentence = "`id` names one page, so edits of many pages never change it."
        raise invalid_argument("FIXED_KEY", sentence, "Leave `id` out of the edit.")
    return bulk_form


def _parse_page_form(number: int, edit: Mapping[str, object]) -> BulkEdit | None:
    with suppress(Failed):
        page_form = parse_edit(number, edit)
        return None if isinstance(page_form, Substitution) else page_form
    return None


def _parse_own_form(edit: Mapping[str, object]) -> BulkEdit | None:
    match edit:
        case {"find": str(find), "replace": str(new), **others} if find and set(others) <= {"word"}:
            return TextChange(find, new, is_word=bool(others.get("word")))
        case {"tag": str(tag), "replace": str(new), **others} if not others:
            return _tag_change(tag.strip().lstrip("#"), new.strip().lstrip("#"))
        case {"task": str(text), "is_done": bool(is_done), **others} if text.strip() and not others:
            return TaskChange(text.strip(), is_done)
        case _:
            return None


def _tag_change(old: str, new: str) -> TagChange:
    for name in (old, new):
        if not is_tag(name):
            raise invalid_argument(
                "INVALID_TAG", f"{name!r} is no tag.", "Give letters, digits, -, _ and / for levels."
            )
    return TagChange(old, new)
