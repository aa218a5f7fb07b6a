"""Searches of a tenant's pages, and their index."""

from mirrord.domain.entry import TenantId
from tests.support.entries import value
from tests.support.rows import Connection


def make_searchable(daemon: Connection, tenant: TenantId) -> None:
    """Index every page, as the daemon does after a change."""
    value(daemon, "SELECT mirrord.rebuild_search()")
    while value(daemon, "SELECT count(*) FROM mirrord.search_due"):
        daemon.execute("SELECT mirrord.index_due_pages(%s)", [tenant])


def titles_of(app: Connection, query: str, **arguments: object) -> list[str]:
    """The titles that a search returns, in their order."""
    names = "".join(f", {name} => %({name})s" for name in arguments)
    statement = f"SELECT title FROM mirrord.search(%(query)s{names})"
    return [title for (title,) in app.execute(statement.encode(), {"query": query, **arguments}).fetchall()]
