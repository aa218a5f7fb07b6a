"""Who is admitted to which tenant: token holders, or clients that an operator trusts locally."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.auth.access_grant import Grant
from mirrord.config import Config
from mirrord.domain.entry import TenantId
from mirrord.errors import Damaged, Refused, Unavailable, UserError, reason_of
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.tenant_tree import Tree

OTHER_TENANT = "Cannot access pages in another tenant"
_NAME_PATTERN = re.compile("[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with a tree on this machine."""

    name: str
    id: TenantId
    root: Path


def read_token(config: Config) -> str | None:
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
    configured = config.tenants
    if not _NAME_PATTERN.fullmatch(grant.tenant) or (
        configured and not {grant.tenant, str(grant.tenant_id)} & set(configured)
    ):
        raise Refused(OTHER_TENANT)
    root = config.mirror / grant.tenant
    tenant_here = _tenant_at(root)
    if tenant_here is not None and tenant_here.id != grant.tenant_id:
        raise Refused(OTHER_TENANT)
    return Tenant(grant.tenant, grant.tenant_id, root)


def find_tenant(config: Config) -> Tenant:
    """The configured tenant, or the only one. Raises UserError if there is none, or more than one."""
    tenants = list(_find_tenants(config.mirror))
    if config.tenants:
        references = set(config.tenants)
        tenants = [tenant for tenant in tenants if {tenant.name, str(tenant.id)} & references]
    if len(tenants) == 1:
        return tenants[0]
    if tenants:
        raise UserError("There are several tenants; name one in TENANT_ID.")
    raise UserError(
        f"There is no such tenant in {config.mirror} yet. Start `mirrord up` once, and check MIRROR_DIR and TENANT_ID."
    )


def open_tree(config: Config, tenant: Tenant) -> Tree:
    """The tenant's tree."""
    try:
        return Tree(tenant.root, config.attachments)
    except OSError as error:
        raise Unavailable(f"The tree {tenant.root} cannot be opened: {reason_of(error)}") from error


def _find_tenants(mirror: Path) -> Iterator[Tenant]:
    try:
        roots = sorted(mirror.iterdir())
    except OSError as error:
        raise UserError(f"The directory {mirror} cannot be read: {reason_of(error)}") from error
    yield from (
        tenant for root in roots if _NAME_PATTERN.fullmatch(root.name) and (tenant := _tenant_at(root)) is not None
    )


def _tenant_at(root: Path) -> Tenant | None:
    """The tenant of the mirror *root*; None: it has no readable marker."""
    try:
        tree = Tree(root)
    except (Unavailable, OSError):
        return None
    try:
        mark = tree_marker.read(tree)
    except (Damaged, Refused, OSError):
        return None
    finally:
        tree.close()
    return Tenant(root.name, mark.tenant_id, root) if mark is not None else None
