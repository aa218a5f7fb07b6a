"""Trust: what an agent may just do, and what waits for a person; how far an operator may change that."""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

from mirrord.errors import UserError


class Trust(IntEnum):
    """How a command is run; the higher, the more a person has to say."""

    AUTONOMOUS = 0  # just done, in the audit
    NOTIFY = 1  # done, and a person is told
    SUGGEST = 2  # a proposal waits for a person
    REQUIRE = 3  # nothing without explicit approval first


DEFAULTS: Mapping[str, Trust] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("list_pages", "read_page", "read_pages", "search_pages", "get_page_links", "get_tree", "sync_status"),
                *("write_page", "edit_page", "create_page", "add_attachment"),
                *("list_folders", "list_sources", "get_source_text"),
                *("collection_list", "collection_content", "category_list"),
            ),
            Trust.AUTONOMOUS,
        ),
        **dict.fromkeys(
            (
                *("move_page", "delete_page", "restore_page", "import_file", "rename_source"),
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


def lowest(tool: str) -> Trust:
    """How far an operator may lower the trust level of *tool*: a proposal to a notice, an approval to a proposal."""
    default = DEFAULTS[tool]
    return Trust(default - 1) if default >= Trust.SUGGEST else default


def levels(changes: Mapping[str, str]) -> dict[str, Trust]:
    """
    The level of every tool after an operator's *changes*: names of tools with names of levels.

    Raises UserError for a tool or level that does not exist, and for one lowered too far.
    """
    return {**DEFAULTS, **{tool: _changed(tool, name) for tool, name in changes.items()}}


def _changed(tool: str, name: str) -> Trust:
    if tool not in DEFAULTS:
        raise UserError(f"There is no tool {tool!r} to set a trust level of.")
    try:
        level = Trust[name.upper()]
    except KeyError:
        known = ", ".join(level.name for level in Trust)
        raise UserError(f"{name!r} is no trust level; there are {known}.") from None
    if level < lowest(tool):
        raise UserError(f"The trust level of {tool} cannot be lowered below {lowest(tool).name}.")
    return level
