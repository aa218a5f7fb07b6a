"""FACE: the command line. Loads only the command that is asked for."""

import gc
import sys


def main(arguments: list[str] | None = None) -> None:
    """The console script `mirrord`. Ends the process with an exit code (docs/commands.md)."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["mcp"]:
        from mirrord.mcp.mcp_command import main as start  # noqa: PLC0415  (starts without click and psycopg)

        sys.exit(start(words[1:]))
    gc.disable()  # nothing of what is loaded goes again; the commands enable it
    from mirrord.cli.command_table import cli  # noqa: PLC0415  (as above)

    sys.exit(cli.main(words, prog_name="mirrord", standalone_mode=False) or 0)
