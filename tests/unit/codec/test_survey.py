"""Tables of text are read as spreadsheets write them; their columns and values as people say; pages say just that."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import read_values
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.research.surveys import survey_columns
from mirrord.research.surveys.delimited_text import Row, delimiter_of, fit_to_width, read_rows
from mirrord.research.surveys.survey_columns import Column, ValueType, column_names, columns_of

TABLES = {
    ",": "id,age\n1,2\n",
    ";": "id;weight;note\n1;2,5;a, b\n2;3,5;c, d\n",
    "\t": "id\tnote\n1\ta; b, c\n2\td\n",
    "|": "id|note\n1|a,b\n2|c\n",
}


@pytest.mark.parametrize("sign", TABLES)
def test_the_sign_that_parts_cells_is_told_by_the_rows(sign: str) -> None:
    assert delimiter_of(TABLES[sign].splitlines(keepends=True)) == sign


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("sep=;\na,b,c;d\n1,2,3;4\n", ";"),
        ('a;b\n"x;y, z, w";"1\n2"\nc;d\n', ";"),
        ("only one column\nsecond\n", ","),
        ("a,b\n1,2\n3,4,5\n6,7\n", ","),
        ("name,comment\nx,well; yes; no\ny,so; so; so\n", ","),
    ],
)
def test_signs_in_cells_do_not_count(text: str, sign: str) -> None:
    assert delimiter_of(text.splitlines(keepends=True)) == sign


@given(st.lists(st.lists(st.text("aé ,;\t|\"'\n漢-"), min_size=2, max_size=4), min_size=1, max_size=5))
def test_what_a_spreadsheet_writes_is_read_the_same(table: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\r\n").writerows(table)
    text.seek(0)
    assert [list(row.cells) for row in read_rows(text, ";")] == table


def test_rows_know_the_line_where_they_begin() -> None:
    rows = list(read_rows(['a,"x\n', 'y"\n', "\n", "b,c\n"], ","))
    assert [row.line for row in rows if not row.is_empty] == [1, 4]


def test_a_mark_and_a_line_that_says_the_sign_are_no_cells() -> None:
    assert next(iter(read_rows(["\ufeffa;b\n"], ";"))).cells == ["a", "b"]
    first, second = read_rows(["\ufeffsep=;\n", "a;b\n"], ";")
    assert first.is_empty
    assert (second.line, second.cells) == (2, ["a", "b"])


@pytest.mark.parametrize(
    ("lines", "line"), [(["a,b\n", '1,"2\n', "3,4\n"], 2), (['a,"b"c\n'], 1), (["a\n", "b\0\n"], 2)]
)
def test_quotes_without_end_and_nul_are_named_by_line(lines: list[str], line: int) -> None:
    with pytest.raises(Damaged, match=f"line {line} "):
        list(read_rows(lines, ","))


def test_only_empty_cells_beyond_the_table_are_dropped() -> None:
    assert fit_to_width(Row(1, ["a", "b", "", " "]), 2) == ["a", "b"]
    assert fit_to_width(Row(1, ["a", "b", "c"]), 2) is None
    assert fit_to_width(Row(1, ["a"]), 2) is None


def test_every_column_has_a_name_of_its_own() -> None:
    assert column_names(["A", " a  b ", "", "a"], are_given=True) == ["A", "a b", "Column 3", "a (2)"]
    assert column_names(["x", "y"], are_given=False) == ["Column 1", "Column 2"]


def test_columns_are_found_by_header_number_and_digits() -> None:
    columns = columns_of(
        ["Id", "Age", "Why"],
        [
            {"column": "id", "target": "identifier"},
            {"column": 1, "target": "case_attribute", "attribute_type": "number", "attribute_name": "Years"},
            {"column": "2", "target": "source_text"},
        ],
    )
    assert columns.identifier == Column(0, "Id")
    assert columns.attributes == (Column(1, "Years", ValueType.NUMBER),)
    assert columns.texts == (Column(2, "Why"),)


TEXT: dict[str, object] = {"column": "a", "target": "source_text"}
WRONG: list[tuple[list[dict[str, object]], str]] = [
    ([], "at least one column must be a source_text"),
    ([{"column": "c", "target": "source_text"}], "no column 'c'; there are a, b"),
    ([{"column": 7, "target": "source_text"}], "no column 7"),
    ([{"column": "a", "target": "text"}], "no target"),
    ([TEXT, TEXT], "mapped twice"),
    ([TEXT, {"column": "b", "target": "case_attribute", "attribute_type": "money"}], "no type"),
    ([{"column": "a", "target": "identifier"}, {"column": "b", "target": "identifier"}], "source_text"),
]


@pytest.mark.parametrize(("mappings", "why"), WRONG)
def test_mappings_that_do_not_fit_are_refused(mappings: list[dict[str, object]], why: str) -> None:
    with pytest.raises(Damaged, match=why):
        columns_of(["a", "b"], mappings)


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("number", " 12 ", 12),
        ("number", "-1.50", -1.5),
        ("number", "2,5", 2.5),
        ("number", "١٢", 12),
        ("date", "2024-02-29", "2024-02-29"),
        ("date", "1.2.2024", "2024-02-01"),
        ("date", "2024/02/01", "2024-02-01"),
        ("date", "2024-02-01 10:30", "2024-02-01T10:30:00"),
        ("boolean", "Yes", True),
        ("boolean", "0", False),
        ("text", " 007 ", "007"),
        ("number", "  ", None),
    ],
)
def test_a_cell_is_a_value_of_its_type(kind: str, cell: str, value: object) -> None:
    assert Column(0, "x", ValueType(kind)).read_value(cell) == value


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        *(("number", "1,000"), ("number", "NaN"), ("number", "1e999"), ("boolean", "maybe")),
        *(("date", "03/04/2024"), ("date", "2023-02-29"), ("date", "2024")),
    ],
)
def test_a_cell_that_is_none_or_may_be_two_things_is_refused(kind: str, cell: str) -> None:
    with pytest.raises(ValueError, match="'"):
        Column(0, "x", ValueType(kind)).read_value(cell)


# The reader takes a tab in brackets for a label: answers have blanks instead.
ANSWERS = st.text("ab#*_`[]()<>!&;~=$%^|\\-+1.) \n:\"'漢é{}\t")


@given(ANSWERS)
@example("$1\n1$")
@example("$1 $$")
@example("[a\nb](c)")
def test_an_answer_means_its_letters(text: str) -> None:
    written = survey_columns.answer_markdown(text)
    lines = [line.strip() for line in text.strip().split("\n")]
    texts = list[str]()
    for block in read_document(f"{written}\n")["content"] if written else []:
        assert block["type"] == "paragraph", written
        for node in block.get("content", []):
            assert node["type"] == "text", written
            assert "marks" not in node or {mark["type"] for mark in node["marks"]} == {"link"}
            texts.append(node["text"])
    assert "".join("".join(texts).split()) == "".join("".join(lines).split())


@given(
    st.dictionaries(
        st.text(min_size=1).filter(str.isprintable), st.text() | st.integers(-(2**50), 2**50) | st.booleans()
    )
)
def test_a_front_matter_says_what_it_was_given(attributes: dict[str, str | int | bool]) -> None:
    printable = {name: value for name, value in attributes.items() if not isinstance(value, str) or value.isprintable()}
    values = read_values(PageText(survey_columns.front_matter_markdown({"title": "x", "attributes": printable})))
    assert values.get("attributes", {}) == printable


def test_a_value_of_several_lines_stays_so() -> None:
    written = survey_columns.front_matter_markdown(
        {"attributes": {"a: b": 'one\n\ttwo # "three"', "c": "no", "d": "1"}}
    )
    assert read_values(PageText(written)) == {"attributes": {"a: b": 'one\n\ttwo # "three"', "c": "no", "d": "1"}}


def test_labels_with_brackets_are_labels() -> None:
    (block,) = read_document(
        survey_columns.heading_markdown("a]b [c] *d*", survey_columns.destination_from("x", "a b/c(1).md", "a b"))
    )["content"]
    (node,) = block["content"]
    assert node["text"] == "a]b [c] *d*"
    assert node["marks"][0]["attrs"] == {"href": "../a%20b/c%281%29.md#a%20b"}
