"""The commands of `mirrord` and their modules. Only the requested command is loaded."""

import gc

import click

from mirrord import __version__
from mirrord.cli.options import Group
from mirrord.mirror.process import prepare_process

_COMMANDS = {
    "adopt": "mirrord.cli.halts:adopt",
    "approvals": "mirrord.cli.approvals:approvals",
    "backup": "mirrord.cli.backups:backup",
    "categories": "mirrord.cli.collections:categories",
    "check": "mirrord.cli.check:check",
    "collections": "mirrord.cli.collections:collections",
    "conflicts": "mirrord.cli.conflicts:conflicts",
    "console": "mirrord.cli.console:console",
    "diff": "mirrord.cli.history:diff",
    "doctor": "mirrord.cli.doctor:doctor",
    "dsn": "mirrord.cli.database:dsn",
    "export": "mirrord.cli.export:export",
    "flush": "mirrord.cli.flush:flush",
    "folders": "mirrord.cli.folders:folders",
    "halts": "mirrord.cli.halts:halts",
    "history": "mirrord.cli.history:history",
    "import": "mirrord.cli.trees:import_command",
    "init": "mirrord.cli.tenants:init",
    "install-service": "mirrord.cli.install:install_service",
    "links": "mirrord.cli.links:links",
    "migrate": "mirrord.cli.database:migrate",
    "notifications": "mirrord.cli.approvals:notifications",
    "psql": "mirrord.cli.database:psql",
    "restore": "mirrord.cli.history:restore",
    "restore-all": "mirrord.cli.halts:restore_all",
    "resume": "mirrord.cli.halts:resume",
    "schema": "mirrord.cli.schema:schema",
    "sources": "mirrord.cli.sources:sources",
    "status": "mirrord.cli.status:status",
    "tenant": "mirrord.cli.tenants:tenant",
    "up": "mirrord.cli.up:up",
}


@click.group(
    cls=Group,
    elsewhere=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`mirrord mcp` serves agents; see `mirrord mcp --help`.",
)
@click.version_option(__version__, prog_name="mirrord")
def cli() -> None:
    """Keep a tree of Markdown files and Postgres in bidirectional sync."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    prepare_process()
