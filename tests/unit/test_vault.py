"""The vault that measurements are made on."""

import re
from pathlib import Path

from tests.bench.vault import build, generate


def test_equal_arguments_give_equal_bytes() -> None:
    assert list(build(50)) == list(build(50))
    assert list(build(50, seed=2)) != list(build(50))


def test_every_page_is_a_file_of_its_own_and_about_as_large_as_asked(tmp_path: Path) -> None:
    paths = generate(tmp_path, 200, average_bytes=2000)

    assert len(set(paths)) == 200
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")} == set(paths)
    average = sum((tmp_path / path).stat().st_size for path in paths) / 200
    assert 1500 < average < 3000


def test_a_vault_holds_what_ordinary_vaults_hold() -> None:
    pages = dict(build(300))
    text = "\n".join(pages.values())

    assert any(path.endswith("/_index.md") for path in pages)
    assert max(path.count("/") for path in pages) >= 2
    for construct in (
        r"^id: ",
        r"^tags: \[",
        r"^rev: r0",
        r"^## ",
        r"^- \[x\]",
        r"^\| ---",
        r"^```python",
        r"^> ",
        r"\[\[.+\]\]",
    ):
        assert re.search(construct, text, re.MULTILINE), construct
    assert not text.isascii()
