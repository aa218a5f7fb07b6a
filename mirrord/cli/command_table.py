"""The table of commands; each is loaded when it is asked for."""

import gc

import click

from mirrord import __version__
from mirrord.cli.options import Group
from mirrord.mirror.process_setup import prepare_process

_COMMANDS = {
    "adopt": "mirrord.cli.halts_commands:adopt",
    "approvals": "mirrord.cli.approvals_command:approvals",
    "backup": "mirrord.cli.backup_command:backup",
    "bind": "mirrord.cli.bind_command:bind",
    "categories": "mirrord.research.collections.collections_cli:categories",
    "changes": "mirrord.cli.changes_command:changes",
    "check": "mirrord.cli.check_command:check",
    "collections": "mirrord.research.collections.collections_cli:collections",
    "conflicts": "mirrord.cli.conflicts_command:conflicts",
    "console": "mirrord.cli.console.console_command:console",
    "diff": "mirrord.cli.history_commands:diff",
    "doctor": "mirrord.cli.host.doctor:doctor",
    "dsn": "mirrord.cli.host.setup_commands:dsn",
    "export": "mirrord.cli.export_command:export",
    "flush": "mirrord.cli.flush_command:flush",
    "folders": "mirrord.research.sources.folders_cli:folders",
    "halts": "mirrord.cli.halts_commands:halts",
    "history": "mirrord.cli.history_commands:history",
    "import": "mirrord.cli.import_command:import_command",
    "init": "mirrord.cli.host.setup_commands:init",
    "install-service": "mirrord.cli.host.install:install_service",
    "links": "mirrord.cli.links_command:links",
    "mcp": "mirrord.cli.host.mcp_command:mcp",
    "migrate": "mirrord.cli.host.setup_commands:migrate",
    "notifications": "mirrord.cli.approvals_command:notifications",
    "psql": "mirrord.cli.host.setup_commands:psql",
    "rebuild-search": "mirrord.cli.search_index_command:rebuild_search",
    "restore": "mirrord.cli.history_commands:restore",
    "restore-all": "mirrord.cli.halts_commands:restore_all",
    "resume": "mirrord.cli.halts_commands:resume",
    "schema": "mirrord.cli.schema_command:schema",
    "sources": "mirrord.research.sources.sources_cli:sources",
    "status": "mirrord.cli.host.status_command:status",
    "tenant": "mirrord.cli.host.setup_commands:tenant",
    "undo": "mirrord.cli.changes_command:undo",
    "up": "mirrord.cli.host.up:up",
}


@click.group(
    cls=Group,
    elsewhere=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="mirrord")
def cli() -> None:
    """Keep a tree of Markdown files and Postgres in bidirectional sync."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    prepare_process()
