"""`mirrord flush`: wait until both sides are equal. Needs no database."""

import click

from mirrord.cli.options import with_config_options
from mirrord.config import Config
from mirrord.errors import Unavailable
from mirrord.mirror.heartbeat import request_flush


@click.command()
@with_config_options
@click.option("--timeout", default=60.0, show_default=True, help="Seconds to wait.")
def flush(config: Config, timeout: float) -> None:
    """Wait until all current changes are on both sides."""
    try:
        request_flush(config.mirror, timeout)
    except TimeoutError:
        raise Unavailable(
            f"After {timeout:g} s not everything is on both sides yet; `mirrord status` says what waits."
        ) from None
