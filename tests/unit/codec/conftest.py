"""Texts to try the codec on: the Markdown specifications and two real vaults, where they are at hand."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# how long one example takes says nothing on a machine that does other things too
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

CORPORA = Path(__file__).parents[4] / "shared" / "corpora"


def _needed(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path} is not here: the corpora are not part of the project")
    return path


@pytest.fixture(scope="session")
def examples() -> list[str]:
    """Every example of the CommonMark and GFM specifications."""
    found: list[str] = []
    for name in ("commonmark-0.31.2.json", "gfm-0.29.json"):
        path = _needed(CORPORA / "spec" / name)
        found += [example["markdown"] for example in json.loads(path.read_text(encoding="utf-8"))]
    return list(dict.fromkeys(found))


@pytest.fixture(scope="session")
def pages() -> list[str]:
    """A sample of real pages, exactly as they are on disk."""
    foam = sorted(_needed(CORPORA / "foam").rglob("*.md"))[::3]
    dendron = sorted(_needed(CORPORA / "dendron-site").rglob("*.md"))[::25]
    return [path.read_bytes().decode() for path in foam + dendron]
