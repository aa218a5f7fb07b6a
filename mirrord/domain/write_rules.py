"""Where agents change files themselves, and where a person reviews their changes first: by tenant, token and folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from mirrord.domain.scope import PathPattern, parse_pattern
from mirrord.errors import UserError

WRITE_KEY, FOLDERS_KEY = "write", "folders"  # of the table `mcp.trust`; its other keys are tools
LINK_FOLLOWING_COMMANDS = frozenset(  # in other pages
    (
        *("move_page", "merge_pages", "split_page", "rename_heading"),
        *("rename_source", "move_source_to_folder", "rename_folder"),
    )
)
_STATE_PREFIX = ".mirrord/"  # files of mirrord itself, which are no places


class WriteMode(StrEnum):
    """What becomes of an agent's change: it is carried out, or waits in a change set until a person accepts it."""

    ACT = "act"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class WriteRules:
    """mode: of all places that no pattern names. folders: modes by PathPattern; the longest that fits counts."""

    mode: WriteMode = WriteMode.ACT
    folders: Mapping[str, WriteMode] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def may_review(self) -> bool:
        """Whether any place is reviewed."""
        return WriteMode.REVIEW in (self.mode, *self.folders.values())

    def mode_of(self, path: str) -> WriteMode:
        """The mode of a path in the tree."""
        fitting = [pattern for pattern in self.folders if _pattern_of(pattern).permits(path)]
        return self.folders[max(fitting, key=len)] if fitting else self.mode

    def reviews(self, paths: Iterable[str]) -> bool:
        """Whether a person reviews a change of all these files: the strictest counts; without a file the mode."""
        places = [path for path in paths if not path.startswith(_STATE_PREFIX)]
        modes = [self.mode_of(path) for path in places] or [self.mode]
        return WriteMode.REVIEW in modes

    def reviewing_all(self) -> "WriteRules":
        """The rules of a token whose changes are reviewed: a folder that is named keeps its mode."""
        return replace(self, mode=WriteMode.REVIEW)


def parse_write_rules(written: Mapping[str, object]) -> WriteRules:
    """The rules in the table `mcp.trust`. Raises UserError for a mode or a pattern that is none."""
    folders = written.get(FOLDERS_KEY, {})
    assert isinstance(folders, Mapping)
    modes = {str(_pattern_of(pattern)): _mode_named(mode) for pattern, mode in folders.items()}
    return WriteRules(_mode_named(written.get(WRITE_KEY, WriteMode.ACT)), modes)


def _mode_named(name: object) -> WriteMode:
    for mode in WriteMode:
        if mode == name:
            return mode
    raise UserError(f"{name!r} says nothing about what agents write; there are {', '.join(WriteMode)}.")


@cache
def _pattern_of(text: str) -> PathPattern:
    return parse_pattern(text)
