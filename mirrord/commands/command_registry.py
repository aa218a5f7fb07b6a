"""The commands that change something, by tool name: how each runs and what it would do."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

from mirrord.commands.core.command_plan import Command, Plan
from mirrord.commands.core.session import Session
from mirrord.commands.pages.attachment_commands import add_attachment
from mirrord.commands.pages.delete_commands import delete_page, restore_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page, write_page
from mirrord.domain.approval import Preview
from mirrord.mirror.write.journal import Journal
from mirrord.research.collections.group_commands import GROUP_COMMANDS
from mirrord.research.sources.file_imports import import_file
from mirrord.research.sources.folder_commands import (
    create_folder,
    delete_folder,
    rename_folder,
)
from mirrord.research.sources.source_commands import (
    move_source_to_folder,
    rename_source,
)
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.speakers.speaker_commands import detect_speakers
from mirrord.research.surveys.survey_import import import_survey


@dataclass(frozen=True, slots=True)
class _PairPlan(Plan[Any]):
    """The plan of a command that is still a pair of functions, which take the lock themselves."""

    run: Callable[..., Any]
    preview_function: Callable[..., Preview]
    idle: Callable[..., Any] | None
    arguments: Mapping[str, Any]

    def preview(self, session: Session) -> Preview:
        arguments = {key: value for key, value in self.arguments.items() if key != "progress"}
        return self.preview_function(session, **arguments)

    def carry_out(self, session: Session, journal: Journal) -> Any:
        return self.run(session, **self.arguments)

    def idle_result(self, session: Session) -> Any:
        return self.idle(session, **self.arguments) if self.idle is not None else None


def _pair(
    name: str,
    run: Callable[..., Any],
    preview: Callable[..., Preview],
    idle: Callable[..., Any] | None = None,
    **options: Any,
) -> Command[..., Any]:
    """A command that is not a plan yet."""

    def plan(session: Session, **arguments: Any) -> Plan[Any]:
        return _PairPlan(run, preview, idle, arguments)

    plan.__annotations__["return"] = Plan[get_type_hints(run)["return"]]  # type: ignore[misc]
    return Command(name, plan, lock=lambda _: nullcontext(), **options)  # type: ignore[arg-type, return-value]


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
)
COMMANDS: Mapping[str, Command[..., Any]] = MappingProxyType({command.name: command for command in _ALL_COMMANDS})
