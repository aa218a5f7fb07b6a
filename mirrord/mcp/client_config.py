"""`mirrord mcp config`: client configurations, ready to paste."""

import json
from collections.abc import Sequence
from pathlib import Path

from mirrord.config import Config
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.errors import UserError
from mirrord.mcp.admission import Tenant, find_tenant
from mirrord.mcp.tool_sets import check_sets
from mirrord.mirror.process_setup import command_line

NAME = "mirrord"
_SETTINGS_PLACES = {
    "claude-code": ".mcp.json in the project",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json in the project",
    "codex": "~/.codex/config.toml",
}
_HTTP_SETTINGS_PLACES = {client: place for client, place in _SETTINGS_PLACES.items() if client != "claude-desktop"}
_TOKEN = "(what `mirrord tenant token {tenant}` prints)"


def settings_on_stdio(
    config: Config,
    client: str | None,
    file: Path | None = None,
    tools: Sequence[str] = (),
    paths: Scope = UNLIMITED,
) -> str:
    """
    The settings of one client, or of all if *client* is None, each below a line that names its place.

    file: the configuration file in use. tools: sets of tools for the command line; default: the configured sets.
    paths: what a server without a token shows.
    Raises UserError for an unknown client or set.
    """
    if client is not None and client not in _SETTINGS_PLACES:
        raise UserError(f"There is no client {client!r}; there are {', '.join(_SETTINGS_PLACES)}.")
    clients = [client] if client is not None else list(_SETTINGS_PLACES)
    patterns = [word for kind, texts in paths.to_claims().items() for text in texts for word in (f"--{kind}", text)]
    command = [*command_line(), "mcp", *(["--tools", ",".join(check_sets(tools))] if tools else []), *patterns]
    environment = _environment_of(config, find_tenant(config), file)
    texts = [_stdio_text(name, command, environment) for name in clients]
    if client is not None:
        return texts[0]
    return "\n\n".join(f"# {name}: {_SETTINGS_PLACES[name]}\n{text}" for name, text in zip(clients, texts, strict=True))


def settings_over_oauth(client: str | None, address: str) -> str:
    """As settings_over_http(), for clients that sign in by OAuth."""
    if client is not None and client not in _SETTINGS_PLACES:
        raise UserError(f"There is no client {client!r}; there are {', '.join(_SETTINGS_PLACES)}.")
    url, places = url_of(address), {**_SETTINGS_PLACES, "claude-desktop": "Settings, Connectors, Add custom connector"}
    if client is not None:
        return _oauth_text(client, url)
    return "\n\n".join(f"# {name}: {place}\n{_oauth_text(name, url)}" for name, place in places.items())


def _oauth_text(client: str, url: str) -> str:
    if client == "claude-desktop":
        return url
    if client == "codex":
        return f"[mcp_servers.{NAME}]\nurl = {json.dumps(url)}"
    return _to_json(client, {"url": url} if client == "cursor" else {"type": "http", "url": url})


def settings_over_http(config: Config, client: str | None, address: str) -> str:
    """
    As settings_on_stdio(), for clients that connect to a server over HTTP with a token. address: its URL, or HOST:PORT.

    Raises UserError for a client that is unknown, or cannot send a token.
    """
    if client is not None and client not in _HTTP_SETTINGS_PLACES:
        raise UserError(
            f"{client} cannot show a token over HTTP; {', '.join(_HTTP_SETTINGS_PLACES)} can."
            if client in _SETTINGS_PLACES
            else f"There is no client {client!r}; over HTTP there are {', '.join(_HTTP_SETTINGS_PLACES)}."
        )
    url, token = url_of(address), _TOKEN.format(tenant=find_tenant(config).name)
    if client is not None:
        return _http_text(client, url, token)
    return "\n\n".join(
        f"# {name}: {place}\n{_http_text(name, url, token)}" for name, place in _HTTP_SETTINGS_PLACES.items()
    )


def url_of(address: str) -> str:
    """The URL of the server at *address*."""
    url = address if "://" in address else f"http://{address}"
    return url if "/" in url.partition("://")[2] else f"{url}/mcp"


def _http_text(client: str, url: str, token: str) -> str:
    if client == "codex":
        lines = [
            f"[mcp_servers.{NAME}]",
            f"url = {json.dumps(url)}",
            f'bearer_token_env_var = "MIRRORD_TOKEN"  # {token}',
        ]
        return "\n".join(lines)
    server: dict[str, object] = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    return _to_json(client, server if client == "cursor" else {"type": "http", **server})


def _environment_of(config: Config, tenant: Tenant, file: Path | None) -> dict[str, str]:
    environment = {"MIRROR_DIR": str(config.mirror), "MIRRORD_DATA": str(config.data), "TENANT_ID": tenant.name}
    if file is not None:
        environment["MIRRORD_CONFIG"] = str(file.absolute())
    if config.agents.token_file is not None:
        return {**environment, "MIRRORD_TOKEN_FILE": str(config.agents.token_file.absolute())}
    if config.agents.token is not None or not config.trusts_locally():
        return {**environment, "MIRRORD_TOKEN": _TOKEN.format(tenant=tenant.name)}
    return environment


def _stdio_text(client: str, command: list[str], environment: dict[str, str]) -> str:
    if client == "codex":
        return _to_toml(command, environment)
    server: dict[str, object] = {"command": command[0], "args": command[1:], "env": environment}
    if client in ("claude-code", "vscode"):
        server = {"type": "stdio", **server}
    return _to_json(client, server)


def _to_json(client: str, server: dict[str, object]) -> str:
    return json.dumps({"servers" if client == "vscode" else "mcpServers": {NAME: server}}, indent=2, ensure_ascii=False)


def _to_toml(command: list[str], environment: dict[str, str]) -> str:
    """The settings as TOML; strings and arrays of strings have the same form in JSON."""
    lines = [
        f"[mcp_servers.{NAME}]",
        f"command = {json.dumps(command[0])}",
        f"args = {json.dumps(command[1:])}",
        "",
        f"[mcp_servers.{NAME}.env]",
        *(f"{key} = {json.dumps(value)}" for key, value in environment.items()),
    ]
    return "\n".join(lines)
