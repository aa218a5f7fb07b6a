"""`mirrord check`: is every file equal to its row?"""

import json

import click

from mirrord import app
from mirrord.cli.options import DIFFERENT, configured, run, tenant_option, the_tenant
from mirrord.config import Config
from mirrord.db import tenants
from mirrord.mirror.tree import Tree
from mirrord.sync.check import Finding, Verdict
from mirrord.sync.check import check as compare


@click.command()
@configured
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--all", "everything", is_flag=True, help="Also what is equal.")
def check(config: Config, tenant: str | None, as_json: bool, everything: bool) -> int:
    """Compare every file with its row, byte for byte. Exit code 1 if anything differs."""

    async def work() -> dict[str, list[Finding]]:
        async with app.opened(config) as database:
            known = await tenants.names(database)
            chosen = dict([await the_tenant(database, config, tenant)]) if tenant or config.tenants else known
            found = {}
            for name, one in chosen.items():
                if not tenant and not (config.mirror / name).is_dir():
                    click.echo(f"{name}: no tree below {config.mirror}", err=True)
                    continue
                tree = Tree(config.mirror / name)
                try:
                    found[name] = await compare(database, one, tree)
                finally:
                    tree.close()
            return found

    return _report(run(work()), as_json=as_json, everything=everything)


def _report(found: dict[str, list[Finding]], *, as_json: bool, everything: bool) -> int:
    odd = {name: [one for one in findings if one.verdict is not Verdict.OK] for name, findings in found.items()}
    shown = found if everything else odd
    if as_json:
        listed = {name: [{"path": one.path, "verdict": one.verdict} for one in shown[name]] for name in shown}
        click.echo(json.dumps(listed, indent=2))
    else:
        for name, findings in shown.items():
            for one in findings:
                click.echo(f"{one.verdict:8} {name}/{one.path}")
        for name, findings in found.items():
            click.echo(f"{name}: {len(findings) - len(odd[name])} of {len(findings)} equal", err=True)
    return DIFFERENT if any(odd.values()) else 0
