"""Trust: what an agent may do at once, how often, and what waits for a person."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from mirrord.errors import UserError

WINDOW_SECONDS = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Limits:
    """pending: requests that wait for a person; calls, mutations: calls and changing calls in WINDOW. 0: no limit."""

    pending: int = 10
    calls: int = 1200
    mutations: int = 240


@dataclass(slots=True)
class RateLimit:
    """A counter that allows *limit* calls in any WINDOW; 0: no limit."""

    limit: int
    _moments: deque[float] = field(default_factory=deque)

    def seconds_to_wait(self, now: float) -> float:
        """Count a call at *now*, by a monotonic clock, and return 0; or the seconds until one may be counted."""
        while self._moments and self._moments[0] <= now - WINDOW_SECONDS:
            self._moments.popleft()
        if self.limit and len(self._moments) >= self.limit:
            return self._moments[0] + WINDOW_SECONDS - now
        self._moments.append(now)
        return 0.0


class Trust(IntEnum):
    """The conditions under which a command runs; the higher, the more a person is involved."""

    AUTONOMOUS = 0  # it runs at once, and is recorded in the audit
    NOTIFY = 1  # it runs, and a person is notified
    SUGGEST = 2  # a proposal waits for a person
    REQUIRE = 3  # it never runs without prior approval


DEFAULTS: Mapping[str, Trust] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("list_pages", "read_page", "read_pages", "search_pages", "get_page_links", "get_tree", "sync_status"),
                *("list_attachments", "read_attachment"),
                *("find_pages", "write_page", "edit_page", "create_page", "add_attachment"),
                *("begin_changes", "review_changes", "apply_changes", "discard_changes", "changes_status"),
                "undo_changes",  # of the agent itself
                *("list_changes", "page_history", "diff_page", "list_trash"),
                *("list_folders", "list_sources", "get_source_text"),
                *("collection_list", "collection_content", "category_list"),
            ),
            Trust.AUTONOMOUS,
        ),
        **dict.fromkeys(
            (
                *("move_page", "delete_page", "restore_page", "import_file", "rename_source"),
                *("edit_pages", "merge_pages", "split_page", "rename_heading"),
                *("collection_add", "collection_remove", "collection_change", "collection_update"),
                *("category_add", "category_remove", "category_change", "category_update"),
            ),
            Trust.NOTIFY,
        ),
        **dict.fromkeys(
            ("create_folder", "rename_folder", "delete_folder", "move_source_to_folder", "detect_speakers"),
            Trust.SUGGEST,
        ),
        **dict.fromkeys(("delete_source", "import_survey"), Trust.REQUIRE),
    }
)


def lowest_level(tool: str) -> Trust:
    """The lowest trust level an operator may give *tool*: one below SUGGEST and REQUIRE, else the default."""
    default = DEFAULTS[tool]
    return Trust(default - 1) if default >= Trust.SUGGEST else default


def trust_levels(changes: Mapping[str, str]) -> dict[str, Trust]:
    """
    The trust level of every tool after an operator's *changes*: names of levels by names of tools.

    Raises UserError for a tool or level that does not exist, and for one lowered too far.
    """
    return {**DEFAULTS, **{tool: _changed_level(tool, name) for tool, name in changes.items()}}


def _changed_level(tool: str, name: str) -> Trust:
    if tool not in DEFAULTS:
        raise UserError(f"There is no tool {tool!r} to set a trust level of.")
    try:
        level = Trust[name.upper()]
    except KeyError:
        level_names = ", ".join(level.name for level in Trust)
        raise UserError(f"{name!r} is no trust level; there are {level_names}.") from None
    if level < lowest_level(tool):
        raise UserError(f"The trust level of {tool} cannot be lowered below {lowest_level(tool).name}.")
    return level
