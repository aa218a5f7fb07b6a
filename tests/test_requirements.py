"""docs/requirements.md names tests that exist, in files it names, and has a row for every line of its documents."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "docs" / "requirements.md"
DOCUMENTS = ROOT.parent / "shared" / "seeds"
MISSING = f"{DOCUMENTS} is not here: the documents are not part of the project"

# Headings of the tables that number lines, and what is only in the document they are about.
NUMBERED = {"Collections": "GUIDE-101", "Folders of sources": "QC-027.13", "Sources": "QC-010.07"}
CASES = ("Cases", "SKB-31.6")
MACHINES = "Many tenants and machines"


@cache
def parts() -> dict[str, str]:
    """What stands below each heading, up to the next."""
    _, *sections = re.split(r"^#+ (.+)\n", TABLES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(sections[::2], sections[1::2], strict=True))


@cache
def functions(file: str) -> frozenset[str]:
    """The names of all tests in a file of the project."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def files_named(part: str) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", part)


def rows(part: str) -> Iterator[tuple[str, str]]:
    """The first and the last cell of each row of the tables below a heading."""
    for line in part.splitlines():
        if line.startswith("| "):
            first, *_, last = line.strip("| ").split(" | ")
            yield first, last


def lines_of(document: str) -> set[int]:
    """The numbers that its requirements have; where they have none, in their order."""
    text = _document(document)
    numbers = {int(number) for number in re.findall(r"^- \[.\] #(\d+) ", text, flags=re.MULTILINE)}
    return numbers or set(range(1, 1 + len(re.findall(r"^### Requirement: ", text, flags=re.MULTILINE))))


def _document(mark: str) -> str:
    if not DOCUMENTS.is_dir():
        pytest.skip(MISSING)
    (content,) = (text for file in DOCUMENTS.iterdir() if mark in (text := file.read_text(encoding="utf-8")))
    return content


@pytest.mark.parametrize("heading", parts())
def test_every_test_that_is_named_is_in_a_file_that_is_named_beside_it(heading: str) -> None:
    named = re.findall(r"`(test_\w+)`", parts()[heading])
    functions_named = {name for file in files_named(parts()[heading]) for name in functions(file)}
    assert set(named) <= functions_named


def test_tests_are_named_for_every_document() -> None:
    with_tests = {heading for heading, part in parts().items() if "`test_" in part}
    others = {"Trust and approvals", "Change sets and agents", "Findings from outside", "Bindings", MACHINES}
    assert with_tests == {CASES[0], *NUMBERED, *others}


@pytest.mark.parametrize("heading", NUMBERED)
def test_every_line_of_a_document_has_a_row_with_a_test(heading: str) -> None:
    numbered = [(re.match(r"#?(\d+) ", first), last) for first, last in rows(parts()[heading])]
    tested = {int(number[1]) for number, last in numbered if number and re.search(r"`[\w/]*test_|the same", last)}
    assert tested == lines_of(NUMBERED[heading])


def test_every_case_a_document_asks_for_has_a_row_with_a_test() -> None:
    heading, document = CASES
    tested = {first for first, last in rows(parts()[heading]) if last.startswith("`test_")}
    _, requirements = re.split(r"^## Testing Requirements$", _document(document), flags=re.MULTILINE)
    cases = re.findall(r"^- (\w.+)$", requirements.partition("\n---\n")[0], flags=re.MULTILINE)
    assert len(cases) >= 18
    assert set(cases) <= tested
