"""A link to a console that nobody serves says so, and how to serve it."""

import socket
from pathlib import Path

from tests.support.commands import run_command


def _print_link(directory: Path) -> str:
    places = ("--mirror", str(directory / "tree"), "--data", str(directory / "data"))
    result = run_command("console", "link", *places)
    assert result.code == 0
    assert "/sign-in?token=" in result.out
    return result.err


def _serve_at(directory: Path, port: int) -> None:
    (directory / "data" / "console").mkdir(parents=True)
    (directory / "data" / "console" / "address").write_text(f"http://127.0.0.1:{port}")


def test_a_link_to_a_console_that_is_not_served_says_how_to_serve_it(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        port = int(closed.getsockname()[1])
        _serve_at(tmp_path, port)

        errors = _print_link(tmp_path)

    assert f"No console is served at http://127.0.0.1:{port} now." in errors
    assert f"`mirrord console --port {port}`" in errors


def test_a_link_to_a_console_that_is_served_only_tells_how_long_it_works(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        _serve_at(tmp_path, int(server.getsockname()[1]))

        assert _print_link(tmp_path).strip() == "It works once, within 12 hours."
