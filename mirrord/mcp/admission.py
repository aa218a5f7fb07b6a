"""Admission of clients to a tenant: by a token, or by an operator's trust in this machine."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.config import Config
from mirrord.domain.entry import TenantId
from mirrord.domain.grant import Grant
from mirrord.errors import Damaged, Refused, Unavailable, UserError, reason_of
from mirrord.mirror import marker
from mirrord.mirror.tree import Tree

OTHER_TENANT = "Cannot access pages in another tenant"
_SLUG = re.compile("[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with a tree on this machine."""

    name: str
    id: TenantId
    root: Path


def the_token(config: Config) -> str | None:
    """The token of this process, or None. Raises UserError if the token file cannot be read."""
    if config.agents.token is not None:
        return config.agents.token.strip()
    if config.agents.token_file is None:
        return None
    try:
        return config.agents.token_file.read_bytes().decode("ascii", "replace").strip()
    except OSError as error:
        raise UserError(f"The token file {config.agents.token_file} cannot be read: {reason_of(error)}") from error


def tenant_of(config: Config, grant: Grant) -> Tenant:
    """The tenant of a token. Raises Refused if the configuration or the tree names another."""
    named = config.tenants
    if not _SLUG.fullmatch(grant.tenant) or (named and not {grant.tenant, str(grant.tenant_id)} & set(named)):
        raise Refused(OTHER_TENANT)
    root = config.mirror / grant.tenant
    found = _marked(root)
    if found is not None and found.id != grant.tenant_id:
        raise Refused(OTHER_TENANT)
    return Tenant(grant.tenant, grant.tenant_id, root)


def the_tenant(config: Config) -> Tenant:
    """The configured tenant, or the only one. Raises UserError if there is none, or more than one."""
    found = list(_tenants(config.mirror))
    if config.tenants:
        wanted = set(config.tenants)
        found = [tenant for tenant in found if {tenant.name, str(tenant.id)} & wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError("There are several tenants; name one in TENANT_ID.")
    raise UserError(
        f"There is no such tenant in {config.mirror} yet. Start `mirrord up` once, and check MIRROR_DIR and TENANT_ID."
    )


def opened(config: Config, tenant: Tenant) -> Tree:
    """The tenant's tree."""
    try:
        return Tree(tenant.root, config.attachments)
    except OSError as error:
        raise Unavailable(f"The tree {tenant.root} cannot be opened: {reason_of(error)}") from error


def _tenants(mirror: Path) -> Iterator[Tenant]:
    try:
        roots = sorted(mirror.iterdir())
    except OSError as error:
        raise UserError(f"The directory {mirror} cannot be read: {reason_of(error)}") from error
    yield from (found for root in roots if _SLUG.fullmatch(root.name) and (found := _marked(root)) is not None)


def _marked(root: Path) -> Tenant | None:
    """The tenant of the mirror *root*; None: it has no readable marker."""
    try:
        tree = Tree(root)
    except (Unavailable, OSError):
        return None
    try:
        found = marker.read(tree)
    except (Damaged, Refused, OSError):
        return None
    finally:
        tree.close()
    return Tenant(root.name, found.tenant_id, root) if found is not None else None
