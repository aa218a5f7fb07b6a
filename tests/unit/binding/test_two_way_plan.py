"""What becomes of a row and its page in mode `both`: no edit is lost, nothing doubles, and both sides end equal."""

from dataclasses import replace
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.binding.app_rows import AppRow, number_below, number_of_position, position_of_number, text_of
from mirrord.binding.mappings.mapping import Format, Mapping
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.page_edits import RowChanges, changes_of, edited_text, json_of
from mirrord.binding.row_decision import BoundEntry
from mirrord.binding.two_way_plan import PageSide, Subject, TwoWayAct, decide_two_way, plan_row
from mirrord.db.bindings.page_state import PageState
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import Digest, EntryId, digest_of
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from tests.support.laws import scale_examples

ENTRY = EntryId(UUID(int=7))
ABOVE = EntryId(UUID(int=8))
OLD, NEW = digest_of(b"old"), digest_of(b"new")
BOUND = BoundEntry("7", ENTRY, 3, OLD, "1")
SAME, EDITED = PageState(ENTRY, 3, False, None, "A", "a"), PageState(ENTRY, 4, False, None, "A", "b")
DELETED, AHEAD = replace(EDITED, is_deleted=True), replace(EDITED, is_ahead=True)
A = TwoWayAct


def mapping_of(form: str, keys: str = "") -> Mapping:
    return parse_mapping(
        f"""
        [binding]
        name = "wiki"
        mode = "both"
        [page]
        table = "pages"
        id = "id"
        title = "title"
        order = {{ int = "position" }}
        [body]
        column = "body"
        format = "{form}"
        {keys}
        [front]
        icon = "icon"
        summary = {{ column = "summary", own = "in" }}
        status = {{ column = "status", own = "out" }}
        """
    )


MARKDOWN, TIPTAP, HTML = mapping_of("markdown"), mapping_of("tiptap"), mapping_of("html")
MAPPINGS = pytest.mark.parametrize("mapping", [MARKDOWN, TIPTAP, HTML], ids=["markdown", "tiptap", "html"])


def body_of(paragraphs: list[str], mapping: Mapping) -> str:
    if mapping.body.form is Format.MARKDOWN:
        return "\n\n".join(paragraphs) + "\n"
    if mapping.body.form is Format.HTML:
        return "\n".join(f"<p>{text}</p>" for text in paragraphs)
    content = [{"type": "paragraph", "content": [{"type": "text", "text": text}]} for text in paragraphs]
    return orjson.dumps({"type": "doc", "content": content}).decode()


def row_of(paragraphs: list[str], mapping: Mapping, title: str = "Title", **properties: object) -> AppRow:
    return AppRow("7", None, title, "3", "1", body_of(paragraphs, mapping), properties)


def applied(row: AppRow, changes: RowChanges, mapping: Mapping) -> AppRow:
    """*row* after the app has stored *changes*."""
    columns = dict(changes.columns)
    keys = {column: key for key, column in mapping.front.items()}
    title, position = columns.pop("title", row.title), columns.pop("position", row.position)
    properties = {**row.properties, **{keys[column]: value for column, value in columns.items()}}
    body = row.body if changes.body is None else changes.body
    return replace(row, title=str(title), position=str(position), body=body, properties=properties)


@pytest.mark.parametrize("mapping", [TIPTAP, HTML], ids=["tiptap", "html"])
def test_syntax_of_the_tenants_dialect_is_text_in_the_app_and_as_it_is_in_the_page(mapping: Mapping) -> None:
    jekyll = replace(mapping, dialect=Dialect.JEKYLL)
    row = row_of(["See {{ a*b*c }} and more.", "Last."], jekyll)
    text = text_of(ENTRY, row, jekyll)
    assert "See {{ a*b*c }} and more.\n" in text
    assert r"{{ a\*b\*c }}" in text_of(ENTRY, row, mapping)
    assert changes_of(ENTRY, row, jekyll, text).body is None
    changes = changes_of(ENTRY, row, jekyll, text.replace("more", "less"))
    assert changes.body == row_of(["See {{ a*b*c }} and less.", "Last."], jekyll).body


@pytest.mark.parametrize(
    ("bound", "digest", "page", "act"),
    [
        (None, None, None, A.NOTHING),
        (None, NEW, None, A.READ),
        (None, NEW, SAME, A.MERGE),
        (None, NEW, DELETED, A.READ),
        (BOUND, OLD, SAME, A.NOTHING),
        (BOUND, NEW, SAME, A.READ),
        (BOUND, OLD, EDITED, A.WRITE_BACK),
        (BOUND, NEW, EDITED, A.MERGE),
        (BOUND, OLD, AHEAD, A.WAIT),
        (BOUND, NEW, AHEAD, A.WAIT),
        (BOUND, None, AHEAD, A.WAIT),
        (BOUND, OLD, DELETED, A.DELETE_ROW),
        (BOUND, NEW, DELETED, A.READ),
        (BOUND, OLD, None, A.READ),
        (BOUND, None, SAME, A.DELETE_PAGE),
        (BOUND, None, EDITED, A.REVIVE_ROW),
        (BOUND, None, DELETED, A.FORGET),
        (BOUND, None, None, A.FORGET),
    ],
)
def test_each_case_has_its_act(
    bound: BoundEntry | None, digest: Digest | None, page: PageState | None, act: TwoWayAct
) -> None:
    assert decide_two_way(bound, digest, page) is act


@given(
    st.sampled_from([None, BOUND]),
    st.sampled_from([None, OLD, NEW]),
    st.none()
    | st.builds(PageState, st.just(ENTRY), st.integers(3, 5), st.booleans(), st.none(), st.just("A"), st.just("a")),
)
def test_no_side_that_changed_is_overwritten_or_deleted(
    bound: BoundEntry | None, digest: Digest | None, page: PageState | None
) -> None:
    act = decide_two_way(bound, digest, page)
    row_changed = bound is not None and digest is not None and digest != bound.digest
    page_changed = bound is not None and page is not None and not page.is_deleted and page.version != bound.version
    assert not (row_changed and act in (A.WRITE_BACK, A.DELETE_ROW))
    assert not (page_changed and act in (A.READ, A.DELETE_PAGE))
    assert (row_changed and page_changed) <= (act is A.MERGE)


words = st.sampled_from(["alpha", "beta", "gamma", "delta"])
paragraphs = st.lists(st.lists(words, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=5)


@st.composite
def edits_of(draw: st.DrawFn, base: list[str], mark: str) -> list[str]:
    """*base* with new paragraphs, words and removals; every new word has *mark*."""
    result: list[str] = []
    for number, paragraph in enumerate(base):
        kind = draw(st.sampled_from(["keep", "keep", "word", "before", "remove"]))
        if kind == "before":
            result.append(f"{mark}n{number}")
        if kind == "word":
            result.append(f"{paragraph} {mark}w{number}")
        elif kind != "remove":
            result.append(paragraph)
    return result or [f"{mark}all"]


@MAPPINGS
@settings(max_examples=scale_examples(60), deadline=None)
@given(data=st.data())
def test_two_edits_are_in_both_sides_or_one_is_kept_beside(mapping: Mapping, data: st.DataObject) -> None:
    base = data.draw(paragraphs)
    theirs, mine = data.draw(edits_of(base, "app")), data.draw(edits_of(base, "file"))
    agreed = text_of(ENTRY, row_of(base, mapping), mapping)
    row = row_of(theirs, mapping)
    head = PageText(agreed).head
    page = PageSide(head + "\n\n".join(mine) + "\n", "Title", None)
    plan = plan_row(A.MERGE, Subject(ENTRY, row, None, mapping), page, PageSide(agreed, "Title", None))
    after = applied(row, plan.changes, mapping)
    assert edited_text(ENTRY, after, mapping, plan.text) == plan.text
    assert not changes_of(ENTRY, after, mapping, plan.text)
    both_texts = plan.text + (plan.rejected or "")
    new_words = [word for text in theirs + mine for word in text.split() if word.startswith(("app", "file"))]
    assert all(both_texts.count(word) >= 1 for word in new_words)
    assert all(plan.text.count(word) <= 1 for word in new_words)


@MAPPINGS
@settings(max_examples=scale_examples(60), deadline=None)
@given(data=st.data())
def test_an_edit_of_one_side_arrives_as_it_is(mapping: Mapping, data: st.DataObject) -> None:
    base = data.draw(paragraphs)
    row = row_of(base, mapping)
    agreed = PageSide(text_of(ENTRY, row, mapping), "Title", None)
    mine = "\n\n".join(data.draw(edits_of(base, "file"))) + "\n"
    page = PageSide(PageText(agreed.text).head + mine, "Title", None)
    plan = plan_row(A.WRITE_BACK, Subject(ENTRY, row, None, mapping), page, agreed)
    assert plan.text == page.text
    after = applied(row, plan.changes, mapping)
    assert edited_text(ENTRY, after, mapping, plan.text) == plan.text
    read = plan_row(A.READ, Subject(ENTRY, after, None, mapping), agreed, None)
    assert PageText(read.text).body == mine


@MAPPINGS
def test_keys_without_a_column_stay_in_the_page(mapping: Mapping) -> None:
    row = row_of(["a"], mapping, icon="1", summary="s")
    text = text_of(ENTRY, row, mapping).replace("title:", "tags: [mine]  # why\ntitle:")
    read = edited_text(ENTRY, replace(row, title="New", properties={"icon": None, "summary": "t"}), mapping, text)
    assert "tags: [mine]  # why" in read
    assert PageText(read).views.title == "New"
    assert "icon" not in PageText(read).views.frontmatter


@MAPPINGS
def test_a_page_without_its_keys_gets_id_and_position_again(mapping: Mapping) -> None:
    row = row_of(["a"], mapping)
    page = PageSide("a\n", "Title", None)
    agreed = PageSide(text_of(ENTRY, row, mapping), "Title", None)
    plan = plan_row(A.WRITE_BACK, Subject(ENTRY, row, None, mapping), page, agreed)
    assert PageText(plan.text).views.frontmatter == PageText(agreed.text).views.frontmatter
    assert PageText(plan.text).body == "a\n"
    assert not plan.changes


@MAPPINGS
def test_owners_decide_about_keys(mapping: Mapping) -> None:
    row = row_of(["a"], mapping, icon="1", summary="s", status="draft")
    text = text_of(ENTRY, row, mapping)
    edited = text.replace("summary: s", "summary: mine").replace("status: draft", "status: done")
    subject, agreed = Subject(ENTRY, row, None, mapping), PageSide(text, "Title", None)
    plan = plan_row(A.WRITE_BACK, subject, PageSide(edited, "Title", None), agreed)
    assert dict(plan.changes.columns) == {"status": "done"}
    assert plan.takes_back
    assert "summary: s" in plan.text


@MAPPINGS
@pytest.mark.parametrize(
    ("old", "new", "name", "title"),
    [
        ("title: Title", "title: Other", "Title", "Other"),
        ("", "", "Renamed", "Renamed"),
        ("", "", "Title (2)", None),
        ("title: Title\n", "", "Title", "Title"),
        ("title: Title", "title: Other", "Renamed", "Other"),
    ],
)
def test_a_title_is_stated_or_the_new_name_of_the_file(
    mapping: Mapping, old: str, new: str, name: str, title: str | None
) -> None:
    row = row_of(["a"], mapping)
    text = text_of(ENTRY, row, mapping)
    page = PageSide(text.replace(old, new), name, None)
    plan = plan_row(A.WRITE_BACK, Subject(ENTRY, row, None, mapping), page, PageSide(text, "Title", None))
    columns = {} if title in (None, "Title") else {"title": title}
    assert dict(plan.changes.columns) == columns
    assert PageText(plan.text).views.title == (title or "Title")


@MAPPINGS
@pytest.mark.parametrize(
    ("base", "app", "page", "parent", "moves"),
    [
        (None, None, None, None, False),
        (None, ABOVE, None, ABOVE, False),
        (None, None, ABOVE, ABOVE, True),
        (None, ABOVE, ABOVE, ABOVE, False),
        (ABOVE, None, ENTRY, ENTRY, True),
    ],
)
def test_places_are_merged_as_those_of_files(
    mapping: Mapping,
    base: EntryId | None,
    app: EntryId | None,
    page: EntryId | None,
    parent: EntryId | None,
    moves: bool,
) -> None:
    row = row_of(["a"], mapping)
    text = text_of(ENTRY, row, mapping)
    side, agreed = PageSide(text, "Title", page), PageSide(text, "Title", base)
    plan = plan_row(A.MERGE, Subject(ENTRY, row, app, mapping), side, agreed)
    assert (plan.parent, plan.moves) == (parent, moves)


def test_unknown_nodes_and_attributes_of_other_blocks_stay_as_they_are() -> None:
    poll = {"type": "poll", "attrs": {"question": "Why?", "votes": [1]}}
    styled = {"type": "paragraph", "attrs": {"indent": 0, "id": "p1"}, "content": [{"type": "text", "text": "A"}]}
    last = {"type": "paragraph", "attrs": {"id": "p2"}, "content": [{"type": "text", "text": "old"}]}
    row = replace(row_of([], TIPTAP), body=orjson.dumps({"type": "doc", "content": [poll, styled, last]}).decode())
    text = text_of(ENTRY, row, TIPTAP)
    changes = changes_of(ENTRY, row, TIPTAP, text.replace("old", "new"))
    content = orjson.loads(changes.body or "")["content"]
    assert content[:2] == [poll, styled]
    assert content[2] == {**last, "content": [{"type": "text", "text": "new"}]}


def test_names_of_nodes_are_those_of_the_app() -> None:
    mapping = mapping_of("prosemirror", 'names = { bullet_list = "bulletList", list_item = "listItem" }')
    item = {"type": "list_item", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "one"}]}]}
    body = {"type": "doc", "content": [{"type": "bullet_list", "content": [item]}]}
    row = replace(row_of([], mapping), body=orjson.dumps(body).decode())
    text = text_of(ENTRY, row, mapping)
    changes = changes_of(ENTRY, row, mapping, text.replace("one", "one\n- two"))
    (bullets,) = orjson.loads(changes.body or "")["content"]
    assert bullets["type"] == "bullet_list"
    assert [each["type"] for each in bullets["content"]] == ["list_item", "list_item"]


def test_a_front_matter_of_the_app_s_own_keeps_its_other_keys() -> None:
    row = replace(row_of([], MARKDOWN), body="---\ntags: [a]  # of the app\n---\nText.\n")
    text = text_of(ENTRY, row, MARKDOWN)
    changes = changes_of(ENTRY, row, MARKDOWN, text.replace("Text.", "New.").replace("---\nNew", "lang: en\n---\nNew"))
    assert changes.body == "---\ntags: [a]  # of the app\nlang: en\n---\nNew.\n"


def test_a_position_between_two_numbers_is_refused_with_a_sentence() -> None:
    row = row_of(["a"], MARKDOWN)
    with pytest.raises(Damaged, match="between two whole numbers"):
        changes_of(ENTRY, row, MARKDOWN, text_of(ENTRY, row, MARKDOWN).replace("a3", "a3V"))


@pytest.mark.parametrize("position", ["--5", "9" * 5_000, "٣", "a", "zz"])
def test_a_position_that_is_none_is_refused(position: str) -> None:
    row = row_of(["a"], MARKDOWN)
    with pytest.raises(Damaged):
        changes_of(ENTRY, row, MARKDOWN, text_of(ENTRY, row, MARKDOWN).replace("a3", f'"{position}"'))


def test_a_number_that_is_too_large_for_json_is_refused() -> None:
    with pytest.raises(Damaged, match="too large"):
        json_of({"icon": 10**30})


def test_an_emptied_page_is_an_empty_document() -> None:
    row = row_of(["a"], TIPTAP)
    changes = changes_of(ENTRY, row, TIPTAP, PageText(text_of(ENTRY, row, TIPTAP)).head)
    assert orjson.loads(changes.body or "") == {"type": "doc", "content": [{"type": "paragraph"}]}


@given(st.integers(-(10**12), 10**12))
def test_numbers_come_back_from_their_positions(number: int) -> None:
    assert number_of_position(position_of_number(number)) == number


@given(st.text(st.characters(min_codepoint=48, max_codepoint=122), max_size=6))
def test_only_positions_of_numbers_have_one(position: str) -> None:
    number = number_of_position(position)
    assert number is None or position_of_number(number) == position


@given(st.integers(-(10**9), 10**9), st.text("0123456789ABCXYZabcxyz", min_size=1, max_size=4))
def test_the_number_below_a_position_is_the_next_smaller_whole_one(number: int, fraction: str) -> None:
    position = position_of_number(number) + fraction
    assert number_below(position) == number
    assert number_below(position_of_number(number)) is None
    assert position_of_number(number) < position < position_of_number(number + 1)


@pytest.mark.parametrize("position", ["", "a", "-5", "7", "a0-", "é0V", "zz", "a0 V"])
def test_what_is_no_position_has_no_number_below(position: str) -> None:
    assert number_below(position) is None
