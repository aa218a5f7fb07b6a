"""A person's session: the commands of agents, with the person as the actor and without approval."""

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
    A session on the tree of a tenant during a `with`; Postgres need not run.

    Raises UserError if neither *tenant* nor the configuration names a tenant and there is not exactly one.
    """
    prepare_process()
    chosen = the_tenant(replace(config, tenants=(tenant,)) if tenant else config)
    session = Session(
        opened(config, chosen),
        chosen.name,
        chosen.id,
        the_person(),
        f"cli-{secrets.token_hex(8)}",
        attach_from=(Path("/"),),  # all files that the person can read
        kept_from=(config.data,),
        sources_dir=config.sources_dir,
    )
    try:
        yield session
    finally:
        session.close()
