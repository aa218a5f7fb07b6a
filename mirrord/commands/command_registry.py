"""The commands that change something, by tool name: how each runs and what it would do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mirrord.commands.core.session import Session
from mirrord.commands.pages.attachment_commands import add_attachment, preview_add_attachment
from mirrord.commands.pages.delete_commands import delete_page, preview_delete_page, preview_restore_page, restore_page
from mirrord.commands.pages.edit_commands import edit_page, preview_edit_page
from mirrord.commands.pages.move_commands import move_page, preview_move_page
from mirrord.commands.pages.page_commands import create_page, preview_create_page, preview_write_page, write_page
from mirrord.domain.approval import Preview
from mirrord.domain.long_work import Progress
from mirrord.research.collections.category_commands import (
    add_category,
    change_category,
    preview_add_category,
    preview_change_category,
    preview_remove_category,
    preview_update_category,
    remove_category,
    update_category,
)
from mirrord.research.collections.collection_commands import (
    add_collection,
    change_collection,
    preview_add_collection,
    preview_change_collection,
    preview_remove_collection,
    preview_update_collection,
    remove_collection,
    update_collection,
)
from mirrord.research.sources.file_imports import import_file, preview_import_file
from mirrord.research.sources.folder_commands import (
    create_folder,
    delete_folder,
    preview_create_folder,
    preview_delete_folder,
    preview_rename_folder,
    rename_folder,
)
from mirrord.research.sources.source_commands import (
    move_source_to_folder,
    preview_move_source_to_folder,
    preview_rename_source,
    rename_source,
)
from mirrord.research.sources.source_deletion import delete_source, preview_delete_source
from mirrord.research.speakers.speaker_commands import detect_speakers, preview_detect_speakers, result_without_speakers
from mirrord.research.surveys.survey_import import import_survey, preview_import_survey


@dataclass(frozen=True, slots=True)
class Command:
    """
    One command.

    run: called with a Session and the arguments, JSON values by snake_case names; returns a dataclass of JSON values.
    preview: called with the same arguments; raises Failed if run would. inputs: arguments that are paths outside the
    tree; a request copies their bytes when it is made. dry_argument: name of an argument that, if true, prevents
    changes.
    idle: called with the same arguments; the result of run if it would change nothing, which needs no approval; else
    None. is_long: run also takes `progress`, a domain.progress.Progress.
    """

    name: str
    run: Callable[..., Any]
    preview: Callable[..., Preview]
    inputs: tuple[str, ...] = ()
    dry_argument: str | None = None
    is_long: bool = False
    idle: Callable[..., Any] | None = None

    def call(self, session: Session, arguments: Mapping[str, Any], progress: Progress) -> Any:
        """Run the command; *progress* is passed to long ones."""
        extra = {"progress": progress} if self.is_long else {}
        return self.run(session, **arguments, **extra)


_ALL_COMMANDS = (
    Command("write_page", write_page, preview_write_page),
    Command("edit_page", edit_page, preview_edit_page, dry_argument="dry_run"),
    Command("create_page", create_page, preview_create_page),
    Command("delete_page", delete_page, preview_delete_page),
    Command("move_page", move_page, preview_move_page),
    Command("restore_page", restore_page, preview_restore_page),
    Command("add_attachment", add_attachment, preview_add_attachment, inputs=("file_path",)),
    Command("collection_add", add_collection, preview_add_collection),
    Command("collection_remove", remove_collection, preview_remove_collection),
    Command("collection_change", change_collection, preview_change_collection),
    Command("collection_update", update_collection, preview_update_collection),
    Command("category_add", add_category, preview_add_category),
    Command("category_remove", remove_category, preview_remove_category),
    Command("category_change", change_category, preview_change_category),
    Command("category_update", update_category, preview_update_category),
    Command("create_folder", create_folder, preview_create_folder),
    Command("rename_folder", rename_folder, preview_rename_folder),
    Command("delete_folder", delete_folder, preview_delete_folder),
    Command("move_source_to_folder", move_source_to_folder, preview_move_source_to_folder),
    Command("rename_source", rename_source, preview_rename_source),
    Command("delete_source", delete_source, preview_delete_source),
    Command("detect_speakers", detect_speakers, preview_detect_speakers, idle=result_without_speakers),
    Command("import_file", import_file, preview_import_file, inputs=("path",), is_long=True),
    Command("import_survey", import_survey, preview_import_survey, inputs=("path",), is_long=True),
)
COMMANDS: Mapping[str, Command] = MappingProxyType({command.name: command for command in _ALL_COMMANDS})
