"""`mirrord tenant clients`: the programs that people admitted by OAuth."""

import json
from datetime import UTC, datetime
from typing import Any

import click

from mirrord.auth.delegations import Delegation, stores_below
from mirrord.auth.signed_tokens import Keyring
from mirrord.cli.options import with_config_options
from mirrord.config import Config


@click.command()
@with_config_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def clients(config: Config, as_json: bool) -> None:
    """List the programs that people admitted by OAuth, with the ids that `mirrord tenant revoke` takes."""
    stores = stores_below(config.data, Keyring(config.mirror))
    listed = [_facts_of(tenant, delegation) for tenant, store in stores.items() for delegation in store.list_all()]
    if as_json:
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    for facts in listed:
        span = f"{facts['since'][:10]} to {facts['until'][:10]}"
        click.echo(f"{facts['id']}  {facts['actor']}  {facts['scope']}  {span}  tenant {facts['tenant_id']}")
    if not listed:
        click.echo("No program was admitted by OAuth.")


def _facts_of(tenant: str, delegation: Delegation) -> dict[str, Any]:
    return {
        "id": delegation.id,
        "actor": delegation.actor,
        "person": delegation.person,
        "scope": delegation.rights.scope.split()[-1],
        "server": delegation.audience,
        "since": _moment(delegation.created),
        "until": _moment(delegation.expires),
        "tenant_id": tenant,
    }


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
