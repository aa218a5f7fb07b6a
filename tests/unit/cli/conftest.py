"""Commands that work on files only, as a person runs them."""

from pathlib import Path

import pytest

from tests.support.commands import Command, commands_on_files


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `mirrord` commands as ana, for the only tenant, whose tree is the *root* of the module."""
    monkeypatch.setenv("USER", "ana")
    return commands_on_files(root.parents[1])
