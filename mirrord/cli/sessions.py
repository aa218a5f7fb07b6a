"""A person's session: the commands agents have, with the person as who acts, and nobody to ask."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mirrord.cli.output import the_person
from mirrord.commands.session import Session
from mirrord.config import Config
from mirrord.mcp.admission import opened, the_tenant
from mirrord.mirror.process import prepare_process


@contextmanager
def session_of(config: Config, tenant: str | None) -> Iterator[Session]:
    """
    The tree of a tenant, for the length of a `with`; Postgres need not run.

    Raises UserError unless *tenant*, or the configuration, or that there is only one, says which.
    """
    prepare_process()
    chosen = the_tenant(replace(config, tenants=(tenant,)) if tenant else config)
    session = Session(
        opened(config, chosen),
        chosen.name,
        chosen.id,
        the_person(),
        f"cli-{secrets.token_hex(8)}",
        attach_from=(Path("/"),),  # whatever the person may read
        kept_from=(config.data,),
        sources_dir=config.sources_dir,
    )
    try:
        yield session
    finally:
        session.close()
