"""FACE: the command line. Loads only the command that is asked for."""

import sys


def main(arguments: list[str] | None = None) -> None:
    """The console script `mirrord`. Ends the process with an exit code of DESIGN §8."""
    from mirrord.cli.commands import cli  # noqa: PLC0415  (other faces start without click and psycopg)

    sys.exit(cli.main(arguments, prog_name="mirrord", standalone_mode=False) or 0)


if __name__ == "__main__":
    main()
