"""FACE: the command line. Loads only the command that is asked for."""

import gc
import sys


def main(arguments: list[str] | None = None) -> None:
    """The console script `mirrord`. Ends the process with an exit code (docs/commands.md)."""
    gc.disable()  # nothing of what is loaded goes again; the commands enable it
    from mirrord.cli.command_table import cli  # noqa: PLC0415  (after garbage collection is off)

    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(cli.main(words, prog_name="mirrord", standalone_mode=False) or 0)
