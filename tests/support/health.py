"""Whether a daemon is well, and what it says is wrong."""

import asyncio
from uuid import uuid4

from mirrord.cli.host.status_command import gather_status
from mirrord.config import Config
from mirrord.db import tenant_rows
from mirrord.db.database import Database
from mirrord.mirror.heartbeat import request_flush
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.operations.tenant_check import Verdict, check_tree
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually


def assert_syncs(mirrord: Mirrord) -> None:
    """A page of its own goes from a file to a row, and from the row to the file."""
    path = f"Canary {uuid4().hex[:8]}.md"
    save(mirrord.file(path), "from a file\n")
    page = eventually(lambda: mirrord.page(path), f"a row of {path}")
    mirrord.app.execute("UPDATE mirrord.page SET markdown = 'from a row' WHERE id = %s", [page.id])
    eventually(lambda: mirrord.text(path) == "from a row", f"the row's text in {path}")
    assert mirrord.running


def look_everywhere(mirrord: Mirrord) -> None:
    """What `mirrord flush` does, without the half second of starting a command."""
    request_flush(mirrord.mirror, 60.0)


def differing(mirrord: Mirrord) -> list[str]:
    """What `mirrord check` lists, without the second of starting a command; for installations that name a DSN."""
    prepare_process()  # else each file is looked at twice, 0.3 s apart
    return asyncio.run(_differing(mirrord))


async def _differing(mirrord: Mirrord) -> list[str]:
    assert mirrord.dsn is not None
    tree = Tree(mirrord.root)
    try:
        async with Database(mirrord.dsn, size=1) as database:
            tenant = (await tenant_rows.load_tenants(database))[mirrord.tenant]
            checked = await check_tree(database, tenant, tree)
    finally:
        tree.close()
    return [f"{entry.verdict} {entry.path}" for entry in checked if entry.verdict is not Verdict.OK]


def problem(mirrord: Mirrord, path: str) -> str | None:
    """What is listed for a path, or for a tenant as a whole (""); None: nothing."""
    query = "SELECT string_agg(sentence, ' ' ORDER BY code) FROM mirrord.problem WHERE path = %s"
    row = mirrord.app.execute(query, [path]).fetchone()
    return row[0] if row else None


def assert_listed(mirrord: Mirrord, path: str, *words: str) -> None:
    """A problem of *path* that says *words* is still there after a look everywhere, and `mirrord status` knows it."""
    look_everywhere(mirrord)
    assert_said(mirrord, path, *words)


def assert_said(mirrord: Mirrord, path: str, *words: str) -> None:
    """The problem of *path* now; while something waits because of it, a look everywhere does not end."""
    sentence = problem(mirrord, path)
    assert sentence is not None, f"no problem is listed for {path!r}"
    missing = [word for word in words if word not in sentence]
    assert not missing, f"{sentence!r} does not say {missing}"
    status = asyncio.run(gather_status(Config(mirrord.mirror, mirrord.data, mirrord.dsn)))
    expected = {"tenant": mirrord.tenant, "kind": "problem", "path": path, "sentence": sentence}
    assert any(expected.items() <= item.items() and item["remedy"] for item in status["attention"])


def assert_over(mirrord: Mirrord, path: str) -> None:
    """Nothing is listed for *path* any more."""
    eventually(lambda: problem(mirrord, path) is None, f"the problem of {path!r} to be taken off the list")
