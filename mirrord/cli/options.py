"""The flags every command shares, and exit codes for errors."""

import functools
import sys
from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mirrord.config import Config, Flags, load
from mirrord.errors import Damaged, Halted, MirrordError, Refused, Stale, Unavailable, UserError

if TYPE_CHECKING:
    from mirrord.db.database import Database
    from mirrord.domain.entry import TenantId

T = TypeVar("T")
Command = Callable[..., Any]

EXIT_DIFFERENT, EXIT_USAGE, EXIT_UNAVAILABLE, EXIT_REFUSED, EXIT_HALTED = 1, 2, 3, 4, 5

_EXIT_CODES: dict[type[MirrordError], int] = {
    UserError: EXIT_USAGE,
    Unavailable: EXIT_UNAVAILABLE,
    Refused: EXIT_REFUSED,
    Damaged: EXIT_REFUSED,
    Stale: EXIT_REFUSED,
    Halted: EXIT_HALTED,
}

_EXIT_CODES_OF_COMMANDS = {
    **dict.fromkeys(("not_found", "invalid", "invalid_name", "category_not_found"), EXIT_USAGE),
    **dict.fromkeys(("description_too_long", "invalid_characters"), EXIT_USAGE),
    **dict.fromkeys(("busy", "unavailable", "lock_error", "write_error"), EXIT_UNAVAILABLE),
}


def with_config_options(command: Command) -> Command:
    """Give a command --mirror, --data, --dsn and --config, and hand it a Config as its first argument."""

    @click.option("--mirror", type=click.Path(path_type=Path), help="Directory with one tree for each tenant.")
    @click.option("--data", type=click.Path(path_type=Path), help="Directory of the embedded Postgres and the log.")
    @click.option("--dsn", help="Connection string of Postgres; default: the embedded one.")
    @click.option(
        "--config", "file", type=click.Path(path_type=Path), help="TOML configuration file; default: ./mirrord.toml."
    )
    @functools.wraps(command)
    def with_config(
        mirror: Path | None, data: Path | None, dsn: str | None, file: Path | None, **arguments: Any
    ) -> Any:
        names = arguments.pop("tenants", ())
        return command(load(Flags(mirror, data, dsn, names, file)), **arguments)

    return with_config


def as_options(kind: Callable[..., object]) -> Callable[[Command], Command]:
    """Hand a command its options as one value of the dataclass *kind*, whose fields have the names of the options."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_options(*config: Config, **values: Any) -> Any:
            return command(*config, kind(**values))

        return with_options

    return decorate


def tenant_option(command: Command) -> Command:
    """Give a command --tenant, which is optional if there is only one tenant."""
    return click.option("--tenant", help="Name or id of the tenant; optional if there is only one.")(command)


async def find_tenant(database: "Database", config: Config, name: str | None) -> "tuple[str, TenantId]":
    """Name and id of the command's tenant. Raises UserError if it does not exist, or *name* is needed to choose one."""
    from mirrord.db import tenant_rows  # noqa: PLC0415  (commands that need no database start in a fifth of the time)

    ids = await tenant_rows.load_tenants(database)
    reference = name or (config.tenants[0] if len(config.tenants) == 1 else None)
    if reference is None:
        if len(ids) == 1:
            return next(iter(ids.items()))
        if not ids:
            raise UserError("There is no tenant yet. Make one with `mirrord init NAME`.")
        raise UserError(f"Which tenant? Add --tenant with one of {', '.join(ids)}.")
    for label, tenant in ids.items():
        if reference in (label, str(tenant)):
            return label, tenant
    raise UserError(f"There is no tenant {reference!r}. There are: {', '.join(ids) or 'none'}.")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine."""
    import asyncio  # noqa: PLC0415  (as above)

    return asyncio.run(work)


def exit_code_of(error: MirrordError) -> int:
    """The exit code for an error (docs/commands.md)."""
    from mirrord.commands.core.failure import Failed  # noqa: PLC0415  (as above; most errors are of other types)

    if isinstance(error, Failed):
        return _EXIT_CODES_OF_COMMANDS.get(error.kind, EXIT_REFUSED)
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), EXIT_UNAVAILABLE)


class Group(click.Group):
    """
    A group that prints errors as sentences on standard error; a traceback means a bug in mirrord.

    Commands are imported on demand: together they need nearly all of mirrord.
    """

    def __init__(self, *args: Any, elsewhere: Mapping[str, str], **extra: Any) -> None:
        """elsewhere: the place of each command, as `module:name`."""
        super().__init__(*args, **extra)
        self._elsewhere = elsewhere

    def list_commands(self, context: click.Context) -> list[str]:
        """Names of all commands, loaded or not."""
        return sorted({*super().list_commands(context), *self._elsewhere})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command, loaded on demand; None: it does not exist."""
        if name in self._elsewhere and name not in self.commands:
            module, _, attribute = self._elsewhere[name].partition(":")
            self.add_command(getattr(import_module(module), attribute))
        return super().get_command(context, name)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run, and convert errors to exit codes."""
        try:
            return super().main(*args, **extra)
        except MirrordError as error:
            click.echo(f"mirrord: {error}", err=True)
            return exit_code_of(error)
        except click.ClickException as error:
            error.show()
            return EXIT_USAGE
        except click.exceptions.Exit as error:
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            return 130
        except BrokenPipeError:
            sys.stderr.close()
            return 0
