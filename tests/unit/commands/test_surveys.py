"""A survey becomes cases and sources that link to each other, all of it or nothing."""

import csv
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.approval import MAX_PREVIEW_LINES
from mirrord.domain.entry import digest_of
from mirrord.markdown.frontmatter.page_properties import read_values
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.research.sources.file_imports import import_file
from mirrord.research.sources.folder_commands import list_folders
from mirrord.research.sources.source_listing import read_holdings
from mirrord.research.surveys.survey_import import import_survey
from mirrord.research.surveys.survey_table import TableFormat
from tests.unit.commands.conftest import Open, events, page
from tests.unit.kills import killed_at

ROWS = [
    ["Id", "Age", "Joined", "Member", "What was good?", "What was not?"],
    ["P1", "34", "2024-05-01", "yes", "The light.\nAnd *quiet* too.", ""],
    ["p/2", "", "", "no", "# Nothing", "Noise; all day"],
    ["P3", "2,5", "1.2.2023", "1", "[all] of it", "Rain"],
]
MAPPINGS: list[dict[str, object]] = [
    {"column": "Id", "target": "identifier"},
    {"column": 1, "target": "case_attribute", "attribute_type": "number"},
    {"column": "Joined", "target": "case_attribute", "attribute_type": "date"},
    {"column": "Member", "target": "case_attribute", "attribute_type": "boolean", "attribute_name": "Is member"},
    {"column": "What was good?", "target": "source_text"},
    {"column": "What was not?", "target": "source_text"},
]
MAPPED = TableFormat(column_mappings=MAPPINGS)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    return directory


@pytest.fixture
def session(connect: Open, outside: Path) -> Session:
    return connect(attach_from=(outside,))


def written(outside: Path, rows: list[list[str]], name: str = "Wave 1.csv", delimiter: str = ",") -> str:
    """A survey's file; its name."""
    with (outside / name).open("w", newline="", encoding="utf-8-sig") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(rows)
    return name


def pages(root: Path) -> dict[str, str]:
    """Every page, by its path."""
    texts = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.md")}
    return {path: text for path, text in texts.items() if not path.startswith(".")}


def targets(session: Session, path: str) -> list[str | None]:
    """Where the links of a page lead."""
    return [target.path for target in session.linkage.outgoing(session.catalogue.snapshot(), path)]


def test_each_question_is_a_source_and_each_row_a_case(root: Path, session: Session, outside: Path) -> None:
    imported = import_survey(session, written(outside, ROWS), MAPPED)
    assert (imported.sources_created, imported.cases_created, imported.rows_processed) == (2, 3, 3)
    good, bad = "Sources/Wave 1/What was good-.md", "Sources/Wave 1/What was not-.md"
    cases = [f"Cases/Wave 1/{name}.md" for name in ("P1", "P3", "p-2")]
    assert set(pages(root)) == {good, bad, *cases, "Sources/Wave 1/_index.md"}
    assert PageText(pages(root)[good]).body == (
        "## [P1](../../Cases/Wave%201/P1.md)\n\nThe light.\nAnd \\*quiet\\* too.\n\n"
        "## [p/2](../../Cases/Wave%201/p-2.md)\n\n\\# Nothing\n\n"
        "## [P3](../../Cases/Wave%201/P3.md)\n\n[all] of it\n\n"
    )
    assert targets(session, good) == ["Cases/Wave 1/P1.md", "Cases/Wave 1/p-2.md", "Cases/Wave 1/P3.md"]
    assert targets(session, "Cases/Wave 1/P1.md") == [good]
    assert targets(session, "Cases/Wave 1/P3.md") == [good, bad]


def test_what_is_known_of_a_case_is_typed(root: Path, session: Session, outside: Path) -> None:
    import_survey(session, written(outside, ROWS), MAPPED)
    cases = [read_values(PageText(pages(root)[f"Cases/Wave 1/{name}.md"])) for name in ("P1", "p-2", "P3")]
    assert [case["attributes"] for case in cases] == [
        {"Age": 34, "Joined": "2024-05-01", "Is member": True},
        {"Is member": False},
        {"Age": 2.5, "Joined": "2023-02-01", "Is member": True},
    ]
    assert [(case["type"], case["title"], case["survey"]) for case in cases] == [
        ("case", name, "Wave 1") for name in ("P1", "p/2", "P3")
    ]


def test_sources_are_sources_in_a_folder_and_the_file_is_kept(root: Path, session: Session, outside: Path) -> None:
    imported = import_survey(session, written(outside, ROWS), MAPPED)
    (folder,) = list_folders(session).folders
    assert (folder.id, folder.name) == (imported.folder_id, "Wave 1")
    sources = read_holdings(session).sources
    assert {source.number for source in sources} == set(imported.source_ids)
    assert {source.original for source in sources} == {"Sources/Wave 1/assets/Wave 1.csv"}
    assert (root / "Sources/Wave 1/assets/Wave 1.csv").read_bytes() == (outside / "Wave 1.csv").read_bytes()


def test_one_event_tells_of_each_source_and_case_and_one_of_the_survey(
    root: Path, session: Session, outside: Path
) -> None:
    imported = import_survey(session, written(outside, ROWS), MAPPED)
    recorded = events(root)
    assert sorted(kind for kind, _ in recorded) == ["CaseCreated"] * 3 + ["SourceImported"] * 2 + ["SurveyImported"]
    for kind, data in recorded:
        if kind != "SurveyImported":
            assert data["digest"] == digest_of((root / str(data["path"])).read_bytes()).hex()
    kind, data = recorded[-1]
    assert kind == "SurveyImported"
    assert (data["rows_processed"], data["cases_created"], data["folder_id"]) == (3, 3, imported.folder_id)
    assert data["attributes"] == {"Age": "number", "Joined": "date", "Is member": "boolean"}


def test_each_row_may_be_a_source_or_all_be_one(root: Path, session: Session, outside: Path) -> None:
    import_survey(session, written(outside, ROWS, "a.csv"), MAPPED, collation="per_row")
    row = pages(root)["Sources/a/p-2.md"]
    assert PageText(row).body == (
        "- [p/2](../../Cases/a/p-2.md)\n\n## What was good?\n\n\\# Nothing\n\n## What was not?\n\nNoise; all day\n\n"
    )
    assert targets(session, "Cases/a/p-2.md") == ["Sources/a/p-2.md"]
    second = [*ROWS, ["P9", "", "", "", "x", "y"]]
    imported = import_survey(session, written(outside, second, "b.csv"), MAPPED, collation="single")
    assert (imported.sources_created, imported.cases_created) == (1, 4)
    body = PageText(pages(root)["Sources/b/b.md"]).body
    assert body.endswith("## [P9](../../Cases/b/P9.md)\n\n### What was good?\n\nx\n\n### What was not?\n\ny\n\n")


def test_texts_alone_make_no_cases_and_rows_get_numbers(root: Path, session: Session, outside: Path) -> None:
    text = [{"column": 0, "target": "source_text"}]
    imported = import_survey(
        session, written(outside, [["one"], ["two"]], "t.csv"), TableFormat(has_header=False, column_mappings=text)
    )
    assert (imported.cases_created, imported.cases_path, imported.rows_processed) == (0, None, 2)
    assert PageText(pages(root)["Sources/t/Column 1.md"]).body == "## Row 1\n\none\n\n## Row 2\n\ntwo\n\n"
    assert not (root / "Cases").exists()


@pytest.mark.parametrize(
    ("encoding", "sign"),
    [("utf-8", ","), ("utf-8-sig", ";"), ("utf-16", "\t"), ("cp1252", "|"), ("latin-1", ";"), ("utf-16", ",")],
)
def test_signs_and_encodings_are_told(root: Path, session: Session, outside: Path, encoding: str, sign: str) -> None:
    (outside / "e.csv").write_bytes(f'Naïve{sign}Größe\n"Gr\nün{sign}"{sign}5\n'.encode(encoding))
    preview = import_survey.preview(
        session, "e.csv", TableFormat(column_mappings=[{"column": "Naïve", "target": "source_text"}])
    )
    assert preview.lines == ("Naïve | Größe", f"Gr ün{' '.join(sign.split())}".rstrip() + " | 5")
    assert preview.facts["delimiter"] == sign


def test_a_preview_shows_first_rows_and_counts_and_changes_nothing(root: Path, session: Session, outside: Path) -> None:
    many = [*ROWS, *([f"X{number}", "", "", "", "good " * 20, ""] for number in range(100))]
    preview = import_survey.preview(session, written(outside, many), MAPPED)
    assert (preview.facts["rows"], preview.facts["cases"], preview.facts["answers"]) == (103, 103, 105)
    assert preview.lines[0].startswith("Id | Age | Joined")
    assert len(preview.lines) == 11 <= MAX_PREVIEW_LINES
    assert "103 rows, 103 cases" in preview.summary
    assert pages(root) == {}
    assert not (root / ".records").exists()


FAULTS = {
    "RAGGED_ROWS": ("P1,1,1.1.2024,yes,a,b\nP2,x\n", [(3, "has 2 cells instead of 6")]),
    "DUPLICATE_IDENTIFIER": ("P1,1,,yes,a,b\n\nP1,1,,yes,a,b\n", [(4, "has the identifier 'P1' of line 2")]),
    "MISSING_IDENTIFIER": (",1,,yes,a,b\n", [(2, "has no identifier")]),
    "INVALID_VALUE": (
        'P1,old,,"maybe\nnot",a,b\nP2,1,soon,yes,a,b\n',
        [(2, "in 'Age': 'old' is not"), (2, "in 'Is member'"), (4, "in 'Joined': 'soon' is not")],
    ),
    "MALFORMED": ('P1,1,,yes,a,b\nP2,1,,yes,"a,b\n', []),
    "EMPTY": ("\n", []),
}


@pytest.mark.parametrize("code", FAULTS)
def test_rows_that_do_not_fit_are_listed_by_line_and_nothing_is_made(
    root: Path, session: Session, outside: Path, code: str
) -> None:
    text, lines = FAULTS[code]
    page(outside, "f.csv", ",".join(ROWS[0]) + "\n" + text)
    for act in (import_survey.preview, import_survey):
        with pytest.raises(Failed) as failed:
            act(session, "f.csv", MAPPED)
        assert failed.value.code == f"SURVEY_NOT_IMPORTED/{code}"
        problems = failed.value.facts.get("problems", [])
        assert isinstance(problems, list)
        assert [problem["line"] for problem in problems] == [line for line, _ in lines]
        for line, why in lines:
            assert f"line {line} {why}" in str(failed.value)
    if code == "MALFORMED":
        assert "line 3 " in str(failed.value)
    assert pages(root) == {}
    assert not (root / ".records").exists()


def test_only_the_first_faults_are_listed(session: Session, outside: Path) -> None:
    with pytest.raises(Failed, match="and 180 more") as failed:
        import_survey(session, written(outside, [ROWS[0], *[["x"]] * 200]), MAPPED)
    assert failed.value.facts["problems_count"] == 200


def test_a_mapping_that_does_not_fit_tells_which_columns_there_are(session: Session, outside: Path) -> None:
    for wrong in ([], [{"column": "Nope", "target": "source_text"}]):
        with pytest.raises(Failed) as failed:
            import_survey(session, written(outside, ROWS), TableFormat(column_mappings=wrong))
        assert failed.value.code == "SURVEY_NOT_IMPORTED/INVALID_MAPPING"
        assert failed.value.facts["columns"] == ROWS[0]
    for delimiter, collation in (("x", "single"), ("auto", "both")):
        with pytest.raises(Failed, match=r"is no (delimiter|collation)"):
            import_survey(session, written(outside, ROWS), TableFormat(delimiter, column_mappings=MAPPINGS), collation)


def test_the_same_file_is_recognised_whatever_it_is_called(root: Path, session: Session, outside: Path) -> None:
    imported = import_survey(session, written(outside, ROWS), MAPPED)
    before = pages(root)
    for act in (import_survey.preview, import_survey):
        with pytest.raises(Failed, match="in the folder 'Wave 1'") as failed:
            act(session, written(outside, ROWS, "copy.csv"), MAPPED)
        assert failed.value.code == "SURVEY_NOT_IMPORTED/ALREADY_IMPORTED"
        assert failed.value.facts["folder_id"] == imported.folder_id
    assert pages(root) == before
    other = import_survey(session, written(outside, ROWS[:3]), MAPPED)
    assert (other.name, other.path, other.cases_path) == ("Wave 1 (2)", "Sources/Wave 1 (2)", "Cases/Wave 1 (2)")


def test_names_that_are_taken_get_numbers(root: Path, session: Session, outside: Path) -> None:
    page(outside, "What was not-.txt", "x")
    import_file(session, "What was not-.txt")
    rows = [ROWS[0], ["a:b", "", "", "", "1", "2"], ["A/B", "", "", "", "3", "4"], ["assets", "", "", "", "5", "6"]]
    import_survey(session, written(outside, rows), MAPPED)
    names = {path.name for path in root.rglob("*.md")}
    assert {"a-b.md", "A-B (2).md", "assets_.md", "What was not- (2).md"} <= names


def test_a_question_that_no_file_can_be_called_by_is_the_title_of_its_source(
    root: Path, session: Session, outside: Path
) -> None:
    page(outside, "Why-.txt", "x")
    import_file(session, "Why-.txt")
    rows = [["Id", "Why?", "Why\n not?", "Plain"], ["P1", "a", "b", "c"]]
    mappings: list[dict[str, object]] = [{"column": 0, "target": "identifier"}]
    mappings += [{"column": number, "target": "source_text"} for number in (1, 2, 3)]
    import_survey(session, written(outside, rows), TableFormat(column_mappings=mappings))
    titles = {source.name: source.title for source in read_holdings(session).sources if source.folder is not None}
    assert titles == {"Why- (2)": "Why? (2)", "Why not-": "Why not?", "Plain": "Plain"}


def test_long_columns_go_on_in_another_source(root: Path, session: Session, outside: Path) -> None:
    rows = [["Id", "Text"], *([f"P{number}", "word " * 4000] for number in range(50))]
    mappings = [{"column": 0, "target": "identifier"}, {"column": 1, "target": "source_text"}]
    imported = import_survey(session, written(outside, rows), TableFormat(column_mappings=mappings))
    assert imported.sources_created == 3
    assert targets(session, "Cases/Wave 1/P49.md") == ["Sources/Wave 1/Text (3).md"]
    assert max(len(text) for text in pages(root).values()) < 450_000


def test_what_is_no_table_is_refused(session: Session, outside: Path) -> None:
    (outside / "a.csv").write_bytes(b"%PDF-1.4")
    (outside / "b.csv").write_bytes(b"")
    for name, code in (("a.csv", "NOT_A_TABLE"), ("b.csv", "EMPTY")):
        with pytest.raises(Failed) as failed:
            import_survey(session, name, MAPPED)
        assert failed.value.code == f"SURVEY_NOT_IMPORTED/{code}"


def test_a_survey_comes_whole_or_not_at_all_whenever_its_import_is_killed(
    connect: Open, outside: Path, root: Path
) -> None:
    name = written(outside, ROWS)

    def act(_: Path) -> None:
        import_survey(connect(attach_from=(outside,)), name, MAPPED)

    outcomes, number = set[int](), 1
    while killed_at(number, root, act):
        connect()  # its writer's name is that of the dead
        with connect().writing():
            pass  # whoever comes next finishes it, or tidies up
        page_texts = pages(root)
        outcomes.add(len(page_texts))
        kinds = [kind for kind, _ in events(root)]
        assert len(set(kinds)) == (3 if page_texts else 0)
        assert not list((root / ".mirrord").rglob("n.*"))
        if page_texts:
            break
        number += 9
    assert outcomes == {0, 6}
