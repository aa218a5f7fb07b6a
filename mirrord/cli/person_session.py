"""A person's session, with the commands that agents have."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mirrord.cli.output import current_person
from mirrord.commands.core.session import Session, SessionSettings
from mirrord.config import Config
from mirrord.mcp.admission import find_tenant, open_tree
from mirrord.mirror.process_setup import prepare_process


@contextmanager
def open_session(config: Config, tenant: str | None) -> Iterator[Session]:
    """
    A session on the tree of a tenant during a `with`; Postgres need not run.

    Raises UserError if neither *tenant* nor the configuration names a tenant and there is not exactly one.
    """
    prepare_process()
    chosen = find_tenant(replace(config, tenants=(tenant,)) if tenant else config)
    session = Session(
        open_tree(config, chosen),
        chosen.name,
        chosen.id,
        current_person(),
        f"cli-{secrets.token_hex(8)}",
        SessionSettings(
            attach_from=(Path("/"),),  # all files that the person can read
            excluded_paths=(config.data,),
            sources_dir=config.sources_dir,
        ),
    )
    try:
        yield session
    finally:
        session.close()
