"""`mirrord mcp config`: what clients want to be told, ready to paste."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from mirrord.config import Config
from mirrord.errors import UserError
from mirrord.mcp.admission import Tenant, the_tenant
from mirrord.mcp.tools import named

NAME = "mirrord"
_PLACES = {
    "claude-code": ".mcp.json in the project",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json in the project",
    "codex": "~/.codex/config.toml",
}


def settings(config: Config, client: str | None, file: Path | None = None, tools: Sequence[str] = ()) -> str:
    """
    The settings of one client, or of all where none is named, each under a line that says where it belongs.

    file: the configuration that was read. tools: sets of tools to be named; without, the configuration says which.
    Raises UserError for a client or a set that is not known.
    """
    if client is not None and client not in _PLACES:
        raise UserError(f"There is no client {client!r}; there are {', '.join(_PLACES)}.")
    chosen = [client] if client is not None else list(_PLACES)
    command = [*_command(), *(["--tools", ",".join(named(tools))] if tools else [])]
    environment = _environment(config, the_tenant(config), file)
    texts = [_text(one, command, environment) for one in chosen]
    if client is not None:
        return texts[0]
    return "\n\n".join(f"# {one}: {_PLACES[one]}\n{text}" for one, text in zip(chosen, texts, strict=True))


def _command() -> list[str]:
    """How this very mirrord is started, wherever the client is."""
    beside = Path(sys.executable).with_name("mirrord")
    program = [str(beside)] if beside.exists() else [sys.executable, "-c", "from mirrord.cli import main; main()"]
    return [*program, "mcp"]


def _environment(config: Config, tenant: Tenant, file: Path | None) -> dict[str, str]:
    environment = {"MIRROR_DIR": str(config.mirror), "MIRRORD_DATA": str(config.data), "TENANT_ID": tenant.name}
    if file is not None:
        environment["MIRRORD_CONFIG"] = str(file.absolute())
    if config.agents.token_file is not None:
        return {**environment, "MIRRORD_TOKEN_FILE": str(config.agents.token_file.absolute())}
    if config.agents.token is not None or not config.trusts_locally():
        return {**environment, "MIRRORD_TOKEN": f"(what `mirrord tenant token {tenant.name}` prints)"}
    return environment


def _text(client: str, command: list[str], environment: dict[str, str]) -> str:
    if client == "codex":
        return _toml(command, environment)
    server: dict[str, object] = {"command": command[0], "args": command[1:], "env": environment}
    if client in ("claude-code", "vscode"):
        server = {"type": "stdio", **server}
    return json.dumps({"servers" if client == "vscode" else "mcpServers": {NAME: server}}, indent=2, ensure_ascii=False)


def _toml(command: list[str], environment: dict[str, str]) -> str:
    """JSON's strings and arrays of strings are TOML's too."""
    lines = [
        f"[mcp_servers.{NAME}]",
        f"command = {json.dumps(command[0])}",
        f"args = {json.dumps(command[1:])}",
        "",
        f"[mcp_servers.{NAME}.env]",
        *(f"{key} = {json.dumps(value)}" for key, value in environment.items()),
    ]
    return "\n".join(lines)
