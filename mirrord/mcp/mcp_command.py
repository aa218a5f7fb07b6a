"""`mirrord mcp`: start the server on stdio or HTTP."""

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from mirrord.config import Config, Flags, file_of, load
from mirrord.errors import MirrordError, Refused, Unavailable, UserError
from mirrord.mirror.process_setup import prepare_process
from mirrord.telemetry import logs

_EXIT_CODES = {UserError: 2, Unavailable: 3, Refused: 4}  # as in docs/commands.md
DEFAULT_HTTP_ADDRESS = "127.0.0.1:8765"


def main(arguments: Sequence[str]) -> int:
    """Run the arguments after `mirrord mcp`; returns the exit code."""
    options = _build_parser().parse_args(arguments)
    try:
        tenants, tools = tuple(options.tenant or ()), tuple(options.tools or ())
        flags = Flags(options.mirror, options.data, None, tenants, options.config, tools)
        return _run_act(load(flags), options, file_of(flags))
    except MirrordError as error:
        print(f"mirrord: {error}", file=sys.stderr)
        return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), 3)
    except KeyboardInterrupt:
        return 130


def _run_act(config: Config, options: argparse.Namespace, file: Path | None) -> int:
    if options.act == "config":
        from mirrord.mcp import client_config  # noqa: PLC0415  (the server starts without the modules of other acts)

        if options.http is not None:
            print(client_config.settings_over_http(config, options.client, options.http))
        else:
            print(client_config.settings_on_stdio(config, options.client, file, tuple(options.tools or ())))
        return 0
    prepare_process()
    logs.log_to(None)
    if options.http is not None:
        from mirrord.mcp.http import serve as serve_http  # noqa: PLC0415  (as above)

        serve_http(config, options.http, tuple(options.host))
        return 0
    gc.disable()  # imported modules stay: collecting garbage among them would slow the start
    from mirrord.mcp.stdio import serve  # noqa: PLC0415  (as above)

    gc.freeze()
    gc.enable()
    serve(config)
    return 0


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mirrord mcp",
        description="Serve the pages of one tenant to agents (Model Context Protocol), on stdin and stdout.",
        epilog="Tokens come from MIRRORD_TOKEN or MIRRORD_TOKEN_FILE; docs/agents.md walks through a first session.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "act", nargs="?", choices=["serve", "config"], default="serve", help="config: print the settings of clients"
    )
    parser.add_argument("client", nargs="?", help="with config: claude-code, claude-desktop, cursor, vscode or codex")
    parser.add_argument("--mirror", type=Path, help="directory with one tree for each tenant")
    parser.add_argument("--data", type=Path, help="directory of the embedded Postgres and the log")
    parser.add_argument("--config", type=Path, help="TOML configuration file; default: ./mirrord.toml")
    parser.add_argument(
        "--tools", type=_split_names, metavar="SETS", help="sets of tools, such as pages,collections; all: every set"
    )
    parser.add_argument("--tenant", action="append", help="name or id of the tenant; optional if there is only one")
    parser.add_argument(
        "--http",
        nargs="?",
        const=DEFAULT_HTTP_ADDRESS,
        metavar="HOST:PORT",
        help=f"serve HTTP instead; default {DEFAULT_HTTP_ADDRESS}; needs tokens. With config: the URL of the server",
    )
    parser.add_argument("--host", action="append", default=[], help="with --http: additional host name of this server")
    return parser
