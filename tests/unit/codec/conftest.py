"""Texts to try the codec on: the Markdown specifications and two real vaults where they are at hand, and own pages."""

from pathlib import Path

import pytest

from tests import corpora
from tests.corpora import Example

CHECKOUT = Path(__file__).parents[3]


def _needed() -> None:
    if not corpora.CORPORA.exists():
        pytest.skip(corpora.MISSING)


@pytest.fixture(scope="session")
def commonmark() -> list[Example]:
    """Every example of CommonMark."""
    _needed()
    return corpora.commonmark()


@pytest.fixture(scope="session")
def gfm() -> list[Example]:
    """Every example of GFM."""
    _needed()
    return corpora.gfm()


@pytest.fixture(scope="session")
def examples(commonmark: list[Example], gfm: list[Example]) -> list[str]:
    """The Markdown of all examples."""
    return list(dict.fromkeys(example.markdown for example in commonmark + gfm))


@pytest.fixture(scope="session")
def paths() -> list[Path]:
    """A sample of real pages."""
    _needed()
    return corpora.paths("foam", every=3) + corpora.paths("dendron-site", every=25)


@pytest.fixture(scope="session")
def pages(paths: list[Path]) -> list[str]:
    """The same, exactly as they are on disk."""
    return [corpora.text_of(path) for path in paths]


@pytest.fixture(scope="session")
def own_pages() -> list[str]:
    """Pages that every checkout has."""
    paths = [*(CHECKOUT / "tests" / "cases").rglob("*.md"), *(CHECKOUT / "data" / "sample").rglob("*.md")]
    return [corpora.text_of(path) for path in sorted(paths)]
