"""The dialect of a tenant's pages: found in the tree that a daemon opens, stored once nothing is left of another."""

import asyncio
from functools import partial

from mirrord.db.content import dialect_rows
from mirrord.domain.dialect import (
    RULES_OF_LINKS,
    USUAL_DAYS,
    WORDS_IN_SIGNS,
    DayFormats,
    Dialect,
    TenantDialect,
    find_dialect,
)
from mirrord.errors import MirrordError
from mirrord.markdown.logseq_days import CONFIG_PATH, read_day_formats
from mirrord.markdown.parser.foreign_syntax import CONSTRUCTS
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides

_MAX_CONFIG_BYTES = 1 << 20


async def settle_dialect(sides: Sides, setting: Dialect | None, stored: TenantDialect) -> TenantDialect:
    """
    Store the dialect of the tenant's pages, and return it: the *setting*, else as the tree shows it.

    A tree that shows none changes nothing: the signs of a tenant may be in its tree on another host.
    """
    if setting is not None:
        dialect = setting
    elif (dialect := await asyncio.to_thread(find_dialect, partial(_has_path, sides.tree))) is Dialect.PLAIN:
        return stored
    spoken = TenantDialect(dialect, await asyncio.to_thread(_find_day_formats, sides.tree, dialect, stored))
    has_changed = False
    while not has_changed:
        has_changed = await _change_dialect(sides, spoken)
    return spoken


def _find_day_formats(tree: Tree, dialect: Dialect, stored: TenantDialect) -> DayFormats:
    """How the configuration of a graph of Logseq calls days; where it cannot be read, as it did before."""
    if dialect is not Dialect.LOGSEQ:
        return USUAL_DAYS
    try:
        config, _ = tree.snapshot(CONFIG_PATH, _MAX_CONFIG_BYTES)
    except (MirrordError, OSError):
        return stored.days
    return read_day_formats(config.decode(errors="replace"))


def _has_path(tree: Tree, path: str) -> bool:
    """Whether a tree has the sign *path*; what mirrord leaves alone, such as a link or a mount, does not count."""
    try:
        stat = tree.stat(path)
        if path in WORDS_IN_SIGNS and stat is not None and stat.is_file:
            return WORDS_IN_SIGNS[path] in tree.snapshot(path, _MAX_CONFIG_BYTES)[0]
    except (MirrordError, OSError):
        return False
    return path not in WORDS_IN_SIGNS and stat is not None and (stat.is_file or stat.is_directory)


async def _change_dialect(sides: Sides, spoken: TenantDialect) -> bool:
    """Forget a batch of what another dialect said, and store *spoken* with the last one. False: call it again."""
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        before = await dialect_rows.load_tenant_dialect(connection, sides.tenant)
        dialects = {spoken.dialect, before.dialect}
        if spoken == before:
            return True
        if len({CONSTRUCTS[dialect] for dialect in dialects}) > 1 and await dialect_rows.forget_documents(
            connection, sides.tenant
        ):
            return False
        if RULES_OF_LINKS & dialects and await dialect_rows.forget_meanings(connection, sides.tenant):
            return False
        await dialect_rows.store_dialect(connection, sides.tenant, spoken)
        return True
