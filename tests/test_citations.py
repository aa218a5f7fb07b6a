"""What the code cites exists: documents, their sections, and the rows of their tables."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CITATION = re.compile(r"\bdocs/([a-z0-9/-]+\.md)(?:, (?:\"([^\"]+)\"|(row \d+|[LF]\d+|[A-Z][\w ]*\w)))?")
ABSENT_CONTRACTS = re.compile(r"\b(?:DESIGN|SYNC|CODEC|TOOLS|STYLE)(?:\s*§|\s+\d|\.md\b)")


def citations(text: str) -> Iterator[tuple[str, str | None]]:
    """The documents that *text* cites, each with a section or a row; None: the whole document."""
    for document, quoted, section in CITATION.findall(" ".join(text.split())):
        yield document, quoted or section or None


@cache
def document(name: str) -> str:
    """The text of a document below docs; "" if there is none."""
    file = ROOT / "docs" / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def has_section(text: str, section: str) -> bool:
    """Whether a heading begins with *section*, or a table or list has that row."""
    row = re.fullmatch(r"row (\d+)|([LF]\d+)", section)
    if row:
        name = row[1] or row[2]
        return re.search(rf"^(?:\| {name} \||- {name}: )", text, flags=re.MULTILINE) is not None
    headings = re.findall(r"^#+ (.+)", text, flags=re.MULTILINE)
    return any(section.lower().startswith(heading.lower()) for heading in headings)


def missing_citations(text: str) -> list[str]:
    """What *text* cites and is not there."""
    return [
        f"docs/{name}" + (f", {section}" if section else "")
        for name, section in citations(text)
        if not document(name) or (section is not None and not has_section(document(name), section))
    ]


def source_files() -> list[Path]:
    """Every Python file of mirrord and its tests."""
    files = [*(ROOT / "mirrord").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    return [file for file in files if "node_modules" not in file.parts and file != Path(__file__)]


def test_every_cited_document_and_section_exists() -> None:
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in source_files()}
    missing = {name: missing_citations(text) for name, text in texts.items()}
    assert {name: cited for name, cited in missing.items() if cited} == {}


def test_no_source_cites_a_contract_that_is_not_in_the_repository() -> None:
    files = [file for file in source_files() if file.name != "house.py"]
    assert [str(file) for file in files if ABSENT_CONTRACTS.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("see docs/rows.md.", []),
        ("(docs/design/sync.md, row 19)", []),
        ("(docs/design/sync.md, L7)", []),
        ('in docs/design/sync.md, "Identity".', []),
        ("docs/nowhere.md", ["docs/nowhere.md"]),
        ("(docs/design/sync.md, row 99)", ["docs/design/sync.md, row 99"]),
        ("(docs/design/sync.md, Astrology)", ["docs/design/sync.md, Astrology"]),
    ],
)
def test_what_is_missing_is_found(text: str, missing: list[str]) -> None:
    assert missing_citations(text) == missing
