"""`mirrord mcp config` prints what each client's own format is."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirrord.cli.host.mcp_command import exit_code_of_server
from mirrord.cli.options import Group
from mirrord.config import Agents, Config
from mirrord.errors import Damaged, Fenced, Halted, MirrordError, Refused, Stale, Unavailable, UserError
from mirrord.mcp.client_config import settings_on_stdio, settings_over_http, settings_over_oauth, url_of
from tests.support.clients import tenant_in


@pytest.fixture
def config(tmp_path: Path) -> Config:
    tenant_in(tmp_path / "mirror")
    (tmp_path / "data" / "pg").mkdir(parents=True)
    return Config(mirror=tmp_path / "mirror", data=tmp_path / "data")


def run(*words: str) -> int:
    """The exit code of `mirrord mcp`."""
    group = Group("mirrord", elsewhere={"mcp": "mirrord.cli.host.mcp_command:mcp"})
    return group.main(["mcp", *words], standalone_mode=False) or 0


def server_of(config: Config, client: str) -> Any:
    text = settings_on_stdio(config, client)
    if client == "codex":
        return tomllib.loads(text)["mcp_servers"]["mirrord"]
    root = json.loads(text)
    (servers,) = root.values()
    assert list(root) == ["servers" if client == "vscode" else "mcpServers"]
    return servers["mirrord"]


@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "vscode", "codex"])
def test_every_client_starts_the_server_of_this_tenant(config: Config, client: str) -> None:
    server = server_of(config, client)

    assert Path(server["command"]).is_absolute()
    assert server["args"][-1] == "mcp"
    assert server["env"]["MIRROR_DIR"] == str(config.mirror)
    assert server["env"]["TENANT_ID"] == "demo"
    assert "MIRRORD_TOKEN" not in server["env"]


def test_where_tokens_are_needed_the_settings_have_a_place_for_one(config: Config) -> None:
    strict = replace(config, agents=Agents(local_trust=False))
    assert "mirrord tenant token demo" in server_of(strict, "cursor")["env"]["MIRRORD_TOKEN"]


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "codex"])
def test_over_http_clients_are_told_the_address_and_where_the_token_goes(config: Config, client: str) -> None:
    text = settings_over_http(config, client, "https://pages.example/mcp")
    assert "mirrord tenant token demo" in text
    if client == "codex":
        server = tomllib.loads(text)["mcp_servers"]["mirrord"]
        assert server["bearer_token_env_var"] == "MIRRORD_TOKEN"
    else:
        (servers,) = json.loads(text).values()
        server = servers["mirrord"]
        assert server["headers"]["Authorization"].startswith("Bearer ")
    assert server["url"] == "https://pages.example/mcp"
    assert "command" not in server


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1:8765", "http://127.0.0.1:8765/mcp"),
        ("https://pages.example", "https://pages.example/mcp"),
        ("https://pages.example/agents", "https://pages.example/agents"),
    ],
)
def test_an_address_becomes_the_url_of_the_server(address: str, url: str) -> None:
    assert url_of(address) == url


def test_a_client_that_cannot_show_a_token_is_not_told_of_http(config: Config) -> None:
    with pytest.raises(UserError, match="cannot show a token over HTTP; claude-code, cursor"):
        settings_over_http(config, "claude-desktop", "127.0.0.1:8765")
    with pytest.raises(UserError, match="no client 'emacs'"):
        settings_over_http(config, "emacs", "127.0.0.1:8765")
    assert "claude-desktop" not in settings_over_http(config, None, "127.0.0.1:8765")


def test_clients_that_sign_in_by_oauth_need_the_url_only(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--mirror", str(config.mirror), "--data", str(config.data)]
    assert run("config", "claude-code", "--http", "https://pages.example/mcp", "--oauth", *places) == 0
    server = json.loads(capsys.readouterr().out)["mcpServers"]["mirrord"]
    assert server == {"type": "http", "url": "https://pages.example/mcp"}
    everything = settings_over_oauth(None, "https://pages.example/mcp")
    assert "# claude-desktop: Settings, Connectors, Add custom connector\nhttps://pages.example/mcp\n" in everything
    assert tomllib.loads(settings_over_oauth("codex", "127.0.0.1:8765")) == {
        "mcp_servers": {"mirrord": {"url": "http://127.0.0.1:8765/mcp"}}
    }
    with pytest.raises(UserError, match="There is no client 'emacs'"):
        settings_over_oauth("emacs", "127.0.0.1:8765")


def test_the_configuration_that_was_read_is_named(config: Config, tmp_path: Path) -> None:
    server = json.loads(settings_on_stdio(config, "cursor", tmp_path / "mirrord.toml"))["mcpServers"]["mirrord"]
    assert server["env"]["MIRRORD_CONFIG"] == str(tmp_path / "mirrord.toml")


def test_a_token_is_never_printed(config: Config) -> None:
    assert "secret" not in settings_on_stdio(replace(config, agents=Agents(token="secret")), None)


def test_a_token_file_is_named(config: Config, tmp_path: Path) -> None:
    with_file = replace(config, agents=Agents(token_file=tmp_path / "token"))
    assert server_of(with_file, "codex")["env"]["MIRRORD_TOKEN_FILE"] == str(tmp_path / "token")


def test_without_a_name_all_clients_are_shown_with_their_places(config: Config) -> None:
    settings = settings_on_stdio(config, None)
    assert [line.split(":")[0] for line in settings.splitlines() if line.startswith("# ")] == [
        "# claude-code",
        "# claude-desktop",
        "# cursor",
        "# vscode",
        "# codex",
    ]


def test_an_unknown_client_is_refused_with_those_there_are(config: Config) -> None:
    with pytest.raises(UserError, match="claude-code, claude-desktop, cursor, vscode, codex"):
        settings_on_stdio(config, "emacs")


def test_the_command_line_prints_them(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--mirror", str(config.mirror), "--data", str(config.data)]

    assert run("config", "codex", *places) == 0
    assert capsys.readouterr().out == f"{settings_on_stdio(config, 'codex')}\n"
    assert run("config", "emacs", *places) == 2
    assert "There is no client 'emacs'" in capsys.readouterr().err


def test_sets_of_tools_are_named_where_they_are_asked_for(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--mirror", str(config.mirror), "--data", str(config.data)]

    assert run("config", "cursor", "--tools", "collections, pages", *places) == 0
    server = json.loads(capsys.readouterr().out)["mcpServers"]["mirrord"]
    assert server["args"][-3:] == ["mcp", "--tools", "pages,collections"]
    assert run("config", "cursor", "--tools", "collection", *places) == 2
    assert "There is no set of tools 'collection'; there are pages" in capsys.readouterr().err
    assert run("--tools", "nothing", *places) == 2
    assert "There is no set of tools 'nothing'" in capsys.readouterr().err


def test_the_address_over_http_has_a_default(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--mirror", str(config.mirror), "--data", str(config.data)]

    assert run("config", "cursor", "--http", *places) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"]["mirrord"]["url"] == "http://127.0.0.1:8765/mcp"


@pytest.mark.parametrize("words", [["sing"], ["--hots", "x"], ["config", "cursor", "vscode"]])
def test_what_the_command_line_does_not_know_is_a_wrong_argument(words: list[str]) -> None:
    assert run(*words) == 2


@pytest.mark.parametrize(
    ("kind", "code"),
    [(UserError, 2), (Unavailable, 3), (Damaged, 3), (Stale, 3), (Halted, 3), (Fenced, 3), (Refused, 4)],
)
def test_to_a_client_a_server_is_misused_out_of_reach_or_closed(kind: type[MirrordError], code: int) -> None:
    assert exit_code_of_server(kind("The reason.")) == code


def test_a_server_that_its_token_does_not_open_exits_as_refused(
    config: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRRORD_TOKEN", "no token")
    assert run("--mirror", str(config.mirror), "--data", str(config.data)) == 4
    assert capsys.readouterr().err.startswith("mirrord: ")


def test_the_settings_keep_the_patterns_of_what_the_server_shows(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--mirror", str(config.mirror), "--data", str(config.data)]
    patterns = ["--write", "Inbox/**", "--deny", "Inbox/Private", "--deny", "Old"]

    assert run("config", "cursor", *places, *patterns) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"]["mirrord"]["args"][-6:] == patterns
    assert run("config", "cursor", *places, *patterns, "--http", "127.0.0.1:8765") == 2
    assert "Over HTTP the patterns are in the tokens" in capsys.readouterr().err
    assert run("serve", *places, "--read", "/Inbox") == 2
    assert "root already" in capsys.readouterr().err
