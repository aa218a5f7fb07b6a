"""The commands that change something, by tool name: how each runs and what it would do. Each is loaded when used."""

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Any, cast

from mirrord.commands.core.command_plan import Command

_PAGES, _RESTRUCTURE = "mirrord.commands.pages", "mirrord.commands.restructure"
_GROUPS, _SOURCES = "mirrord.research.collections.group_commands", "mirrord.research.sources"


class CommandRegistry(Mapping[str, Command[..., Any]]):
    """Commands by name. All of them take 7 MB and a tenth of a second; most servers use two or three."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """*places*: module and name in it, separated by a colon."""
        self._places = places
        self._loaded: dict[str, Command[..., Any]] = {}

    def __getitem__(self, name: str) -> Command[..., Any]:
        if name not in self._loaded:
            self._loaded[name] = cast("Command[..., Any]", resolve_name(self._places[name]))
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


COMMANDS = CommandRegistry(
    {
        "write_page": f"{_PAGES}.page_commands:write_page",
        "edit_page": f"{_PAGES}.edit_commands:edit_page",
        "create_page": f"{_PAGES}.page_commands:create_page",
        "delete_page": f"{_PAGES}.delete_commands:delete_page",
        "move_page": f"{_PAGES}.move_commands:move_page",
        "restore_page": f"{_PAGES}.restore_command:restore_page",
        "add_attachment": f"{_PAGES}.attachment_commands:add_attachment",
        "collection_add": f"{_GROUPS}:add_collection",
        "collection_remove": f"{_GROUPS}:remove_collection",
        "collection_change": f"{_GROUPS}:change_collection",
        "collection_update": f"{_GROUPS}:update_collection",
        "category_add": f"{_GROUPS}:add_category",
        "category_remove": f"{_GROUPS}:remove_category",
        "category_change": f"{_GROUPS}:change_category",
        "category_update": f"{_GROUPS}:update_category",
        "create_folder": f"{_SOURCES}.folder_commands:create_folder",
        "rename_folder": f"{_SOURCES}.folder_commands:rename_folder",
        "delete_folder": f"{_SOURCES}.folder_commands:delete_folder",
        "move_source_to_folder": f"{_SOURCES}.source_commands:move_source_to_folder",
        "rename_source": f"{_SOURCES}.source_commands:rename_source",
        "delete_source": f"{_SOURCES}.source_deletion:delete_source",
        "detect_speakers": "mirrord.research.speakers.speaker_commands:detect_speakers",
        "import_file": f"{_SOURCES}.file_imports:import_file",
        "import_survey": "mirrord.research.surveys.survey_import:import_survey",
        "apply_changes": "mirrord.commands.changes.apply_command:apply_changes",
        "edit_pages": f"{_RESTRUCTURE}.edit_command:edit_pages",
        "merge_pages": f"{_RESTRUCTURE}.merge_command:merge_pages",
        "split_page": f"{_RESTRUCTURE}.split_command:split_page",
        "rename_heading": f"{_RESTRUCTURE}.heading_command:rename_heading",
    }
)
