"""Commands that edit parts of a page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.commands.core.command_plan import Plan, command, diff_lines, diff_of
from mirrord.commands.core.failure import Failed, edit_missed, invalid_argument, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.domain.approval import Preview
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId, parse_id
from mirrord.markdown.frontmatter.page_properties import REMOVED, Json, Removed
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText, with_unix_endings
from mirrord.markdown.write import page_edits
from mirrord.markdown.write.page_edits import Action, Appendix, Edit, KeyEdit, SectionEdit, Substitution
from mirrord.mirror.write.journal import Journal

EDIT_FORMS = (
    "An edit is {find, replace, count?}, {heading, action, text} with action one of "
    f"{', '.join(Action)}, {{append}}, or {{frontMatter: {{set: {{KEY: VALUE}}, remove: [KEY]}}}}."
)


@dataclass(frozen=True, slots=True)
class EditedPage:
    """
    A page after edits, or the expected page after a dry run.

    diff: unified diff; "" without changes. written: False after a dry run.
    """

    path: str
    page_id: str
    digest: str
    diff: str
    written: bool


@dataclass(frozen=True, slots=True)
class _PageEdit(Plan[EditedPage]):
    """Other bytes for a page, made from its own by *count* edits. is_dry: they are only shown."""

    page: page_writes.Page
    data: bytes
    count: int
    is_dry: bool

    def preview(self, session: Session) -> Preview:
        count = "one edit" if self.count == 1 else f"{self.count} edits"
        facts, path = {"path": self.page.path, "edits": self.count, "dry_run": self.is_dry}, self.page.path
        lines = diff_lines(path, *self._texts())
        return Preview(f"{path} would be changed by {count}.", facts, lines, {path: self.page.digest.hex()})

    def carry_out(self, session: Session, journal: Journal) -> EditedPage:
        return self._result(*page_writes.overwrite_page(session, journal, self.page, self.data, part=True))

    def idle_result(self, session: Session) -> EditedPage | None:
        if not self.is_dry:
            return None
        return self._result(page_writes.id_of_page(session, self.page), self.page.digest)

    def _result(self, entry: EntryId, digest: Digest) -> EditedPage:
        diff = diff_of(self.page.path, *self._texts())
        return EditedPage(self.page.path, str(entry), digest.hex(), diff, written=not self.is_dry)

    def _texts(self) -> tuple[str, str]:
        return with_unix_endings(self.page.text), with_unix_endings(self.data.decode())


@command("edit_page", dry_argument="dry_run")
def edit_page(
    session: Session,
    path: str,
    edits: Sequence[Mapping[str, object]],
    expected_digest: str | None = None,
    *,
    dry_run: bool = False,
) -> Plan[EditedPage]:
    """
    Apply all *edits* in order, or none.

    edits: each {find, replace, count = 1}, {heading, action, text} with an `editing.Action`, {append} with Markdown
        for the end of the page, or {front_matter: {set: {key: value}, remove: [key]}}.
    expected_digest: as for write_page; None: edits that only find and replace, or append, apply to the current page,
        even if it changed since this session saw it: each states the text it expects, or replaces nothing.
    """
    parsed = [parse_edit(number, edit) for number, edit in enumerate(edits, 1)]
    page = page_writes.find_page(session, path)
    page_writes.refuse_bound(page)
    if not dry_run:
        _check_unchanged(session, page, parsed, expected_digest)
    return _PageEdit(page, page_writes.encode_rewrite(page, _apply_edits(page, parsed)), len(edits), dry_run)


def _check_unchanged(session: Session, page: page_writes.Page, edits: Sequence[Edit], expected: str | None) -> None:
    if expected is not None or not all(isinstance(edit, Substitution | Appendix) for edit in edits):
        page_writes.check_unchanged(session, page, expected)


def _apply_edits(page: page_writes.Page, edits: Sequence[Edit]) -> PageText:
    new = page.content
    for number, edit in enumerate(edits, 1):
        _check_id(page, edit)
        _check_growth(new.text, edit)
        try:
            with translating_errors():
                new = page_edits.apply_edits(new, [edit])
        except EditTargetError as error:
            raise _add_number(edit_missed(error), number, len(edits)) from error
    if not all(isinstance(edit, KeyEdit) for edit in edits):  # a change of keys leaves front matter that can be read
        page_writes.check_front_matter(new, page.content)
    return new


def _check_growth(text: str, edit: Edit) -> None:
    """Raises Failed before short edits that multiply each other fill the memory."""
    if not isinstance(edit, Substitution) or text.count(edit.find) != edit.count:
        return
    if len(text) + edit.count * (len(edit.replace) - len(edit.find)) > MAX_FILE_BYTES:
        raise invalid_argument(
            "TOO_LARGE", f"The page would have more than {MAX_FILE_BYTES} characters.", "Split the page."
        )


def _add_number(failed: Failed, number: int, count: int) -> Failed:
    if count == 1:
        return failed
    sentence = f"Edit {number} of {count}: {failed} Nothing was changed."
    return Failed(failed.code, failed.kind, sentence, failed.instruction, {**failed.facts, "edit": number})


def _check_id(page: page_writes.Page, edit: Edit) -> None:
    if isinstance(edit, KeyEdit) and "id" in edit.changes and parse_id(page.head.id) is not None:
        raise invalid_argument("FIXED_KEY", "`id` names the page and is never changed.", "Leave `id` out of the edit.")


def parse_edit(number: int, edit: Mapping[str, object]) -> Edit:
    """The *edit* with this number among others. Raises Failed, INVALID_EDIT."""
    keys = set(edit)
    if {"find", "replace"} <= keys <= {"find", "replace", "count"}:
        parsed: Edit | None = _parse_substitution(edit)
    elif keys == {"heading", "action", "text"}:
        parsed = _parse_section_edit(edit)
    elif keys == {"append"} and isinstance(edit["append"], str):
        parsed = Appendix(edit["append"])
    elif keys == {"front_matter"}:
        parsed = _parse_key_edit(edit["front_matter"])
    else:
        parsed = None
    if parsed is None:
        raise invalid_argument("INVALID_EDIT", f"Edit {number} is of no known form.", EDIT_FORMS)
    return parsed


def _parse_substitution(edit: Mapping[str, object]) -> Edit | None:
    find, replace, count = edit["find"], edit["replace"], edit.get("count", 1)
    if not (isinstance(find, str) and find and isinstance(replace, str)):
        return None
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return None
    return Substitution(find, replace, count)


def _parse_section_edit(edit: Mapping[str, object]) -> Edit | None:
    heading, action, text = edit["heading"], edit["action"], edit["text"]
    if not (isinstance(heading, str) and isinstance(text, str) and isinstance(action, str) and action in set(Action)):
        return None
    return SectionEdit(heading, Action(action), text)


def _parse_key_edit(change: object) -> Edit | None:
    if not isinstance(change, Mapping) or not set(change) <= {"set", "remove"} or not change:
        return None
    new, removals = change.get("set", {}), change.get("remove", [])
    if not (isinstance(new, Mapping) and _is_json(dict(new)) and isinstance(removals, list) and _is_json(removals)):
        return None
    removed: dict[str, Json | Removed] = {key: REMOVED for key in removals if isinstance(key, str)}
    return KeyEdit({**removed, **new}) if len(removed) == len(set(map(str, removals))) else None


def _is_json(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_json, value.values()))
    if isinstance(value, float):
        return math.isfinite(value)  # JSON has no infinities and NaN; YAML's words for them would be read as text
    return value is None or isinstance(value, str | int)
