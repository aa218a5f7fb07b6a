"""Two trees that differ only in what a scope hides: whoever works through the scope gets the same answers in both."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrord.domain.place import RECORDS
from mirrord.domain.scope import Scope
from mirrord.mcp.admission import Tenant
from tests.support.clients import tenant_in

_MADE_BY_CHANCE = re.compile(
    r"[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{16}\b|\d{4}-\d\d-\d\dT[\d:.+Z]+"
)


@dataclass(frozen=True, slots=True)
class ScopedWorlds:
    """full: with what *scope* hides. bare: without it."""

    scope: Scope
    full: Tenant
    bare: Tenant
    hidden: frozenset[str]

    def hidden_texts(self) -> Mapping[str, str]:
        """What the hidden files say now."""
        files = {path: self.full.root / path for path in self.hidden}
        return {path: file.read_text(encoding="utf-8") for path, file in files.items() if file.exists()}


def make_worlds(base: Path, pages: Mapping[str, str], scope: Scope, hidden_records: Iterable[str] = ()) -> ScopedWorlds:
    """Trees of *pages*, with the same ids and times. hidden_records: the records among them that *scope* hides."""
    full = tenant_in(base / "full", pages=pages)
    hidden_pages = (path for path in pages if not path.startswith(f"{RECORDS}/") and not scope.can_read(path))
    hidden = frozenset((*hidden_pages, *hidden_records))
    for path in pages:
        os.utime(full.root / path, (1_700_000_000, 1_700_000_000))
    bare_root = base / "bare" / full.name
    shutil.copytree(full.root, bare_root)
    for path in hidden:
        (bare_root / path).unlink()
        _remove_empty_parents(bare_root, path)
    return ScopedWorlds(scope, full, Tenant(full.name, full.id, bare_root), hidden)


def normalize_answer(answer: Any) -> Any:
    """
    *answer* without what chance or the clock decides: new ids, the digests of texts that hold them, and the order in
    which the files of one plan came into the trash.
    """
    if isinstance(answer, dict):
        normalized = {_MADE_BY_CHANCE.sub("…", key): normalize_answer(value) for key, value in answer.items()}
        return normalized | ({"trash": sorted(normalized["trash"], key=str)} if "trash" in normalized else {})
    if isinstance(answer, list):
        return [normalize_answer(value) for value in answer]
    return _MADE_BY_CHANCE.sub("…", answer) if isinstance(answer, str) else answer


def _remove_empty_parents(root: Path, path: str) -> None:
    for directory in (root / path).parents:
        if directory == root or any(directory.iterdir()):
            return
        directory.rmdir()
