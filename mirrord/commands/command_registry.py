"""The commands that change something, by tool name: how each runs and what it would do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.core.command_plan import Command
from mirrord.commands.pages.attachment_commands import add_attachment
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page, write_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.commands.restructure.edit_command import edit_pages
from mirrord.commands.restructure.heading_command import rename_heading
from mirrord.commands.restructure.merge_command import merge_pages
from mirrord.commands.restructure.split_command import split_page
from mirrord.research.collections.group_commands import GROUP_COMMANDS
from mirrord.research.sources.file_imports import import_file
from mirrord.research.sources.folder_commands import create_folder, delete_folder, rename_folder
from mirrord.research.sources.source_commands import move_source_to_folder, rename_source
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.speakers.speaker_commands import detect_speakers
from mirrord.research.surveys.survey_import import import_survey

_ALL_COMMANDS: tuple[Command[..., Any], ...] = (
    write_page,
    edit_page,
    create_page,
    delete_page,
    move_page,
    restore_page,
    add_attachment,
    *GROUP_COMMANDS.values(),
    create_folder,
    rename_folder,
    delete_folder,
    move_source_to_folder,
    rename_source,
    delete_source,
    detect_speakers,
    import_file,
    import_survey,
    apply_changes,
    edit_pages,
    merge_pages,
    split_page,
    rename_heading,
)
COMMANDS: Mapping[str, Command[..., Any]] = MappingProxyType({command.name: command for command in _ALL_COMMANDS})
