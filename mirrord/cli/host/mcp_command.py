"""`mirrord mcp`: start the server for agents on stdio or HTTP, or print the settings of clients."""

import gc
from dataclasses import dataclass
from pathlib import Path

import click

from mirrord.cli.options import EXIT_REFUSED, EXIT_UNAVAILABLE, EXIT_USAGE, as_options
from mirrord.config import Config, Flags, file_of, load
from mirrord.domain.scope import Scope, check_reachable, parse_scope
from mirrord.errors import MirrordError, Refused, UserError
from mirrord.telemetry import process_reports

DEFAULT_HTTP_ADDRESS = "127.0.0.1:8765"


def _split_names(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class _McpOptions:
    """What `mirrord mcp` takes. tools: sets of tools. address: HOST:PORT, or the URL of the server; None: stdio."""

    act: str
    client: str | None
    mirror: Path | None
    data: Path | None
    file: Path | None
    tools: tuple[str, ...]
    tenants: tuple[str, ...]
    address: str | None
    hosts: tuple[str, ...]
    oauth: str | None
    write: tuple[str, ...]
    read: tuple[str, ...]
    deny: tuple[str, ...]


@click.command(
    epilog="Tokens come from MIRRORD_TOKEN or MIRRORD_TOKEN_FILE; docs/agents.md walks through a first session."
)
@click.argument("act", type=click.Choice(["serve", "config"]), default="serve", metavar="[{serve,config}]")
@click.argument("client", required=False)
@click.option("--mirror", type=click.Path(path_type=Path), help="Directory with one tree for each tenant.")
@click.option("--data", type=click.Path(path_type=Path), help="Directory of the embedded Postgres and the log.")
@click.option(
    "--config", "file", type=click.Path(path_type=Path), help="TOML configuration file; default: ./mirrord.toml."
)
@click.option(
    *("--tools", "tools"),
    metavar="SETS",
    callback=_split_names,
    help="Sets of tools, such as pages,collections; all: every set.",
)
@click.option("--tenant", "tenants", multiple=True, help="Name or id of the tenant; optional if there is only one.")
@click.option(
    *("--http", "address"),
    is_flag=False,
    flag_value=DEFAULT_HTTP_ADDRESS,
    metavar="[HOST:PORT]",
    help=f"Serve HTTP instead; default {DEFAULT_HTTP_ADDRESS}; needs tokens. With config: the URL of the server.",
)
@click.option("--host", "hosts", multiple=True, help="With --http: additional host name of this server.")
@click.option(
    "--oauth",
    is_flag=False,
    flag_value="",
    metavar="[URL]",
    help="With --http: let people admit programs that sign in by OAuth. URL: how they reach this server, with https.",
)
@click.option("--write", multiple=True, metavar="PATTERN", help='Without a token: where to write, as "Inbox/**".')
@click.option("--read", multiple=True, metavar="PATTERN", help="Without a token: where to read only.")
@click.option("--deny", multiple=True, metavar="PATTERN", help="Without a token: what is never seen.")
@as_options(_McpOptions)
def mcp(options: _McpOptions) -> int:
    """
    Serve the pages of one tenant to agents (Model Context Protocol), on stdin and stdout.

    config: print the settings of clients.

    CLIENT, with config: claude-code, claude-desktop, cursor, vscode or codex.
    """
    flags = Flags(options.mirror, options.data, None, options.tenants, options.file, options.tools, options.oauth)
    try:
        config = load(flags)
        if options.act == "config":
            _print_settings(config, options, flags)
        else:
            _serve(config, options)
    except MirrordError as error:
        click.echo(f"mirrord: {error}", err=True)
        return exit_code_of_server(error)
    return 0


def exit_code_of_server(error: MirrordError) -> int:
    """The exit code for an error of the server: to its client, every error but usage and refusal is an outage."""
    if isinstance(error, UserError):
        return EXIT_USAGE
    return EXIT_REFUSED if isinstance(error, Refused) else EXIT_UNAVAILABLE


def _print_settings(config: Config, options: _McpOptions, flags: Flags) -> None:
    from mirrord.mcp import client_config  # noqa: PLC0415  (the server starts without it)

    client, address, paths = options.client, options.address, _paths_of(options)
    if address is not None and config.agents.oauth is not None:
        click.echo(client_config.settings_over_oauth(client, address))
    elif address is not None:
        click.echo(client_config.settings_over_http(config, client, address))
    else:
        click.echo(client_config.settings_on_stdio(config, client, file_of(flags), flags.tools, paths))


def _paths_of(options: _McpOptions) -> Scope:
    """What a server without a token shows. Raises UserError for patterns over HTTP, where tokens have them."""
    paths = parse_scope(options.write, options.read, options.deny)
    check_reachable(paths)
    if options.address is not None and not paths.is_unlimited:
        raise UserError("Over HTTP the patterns are in the tokens: `mirrord tenant token` takes --write and so on.")
    return paths


def _serve(config: Config, options: _McpOptions) -> None:
    process_reports.log_to(None)
    paths = _paths_of(options)
    if options.address is not None:
        from mirrord.mcp.http import serve as serve_http  # noqa: PLC0415  (as above)

        serve_http(config, options.address, options.hosts)
        return
    gc.disable()  # imported modules stay: collecting garbage among them would slow the start
    from mirrord.mcp.server import serve_stdio  # noqa: PLC0415  (`mcp config` does without it)

    gc.freeze()
    gc.enable()
    serve_stdio(config, paths)
