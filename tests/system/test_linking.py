"""However pages came to be as they are: their links mean what they would mean if everything were looked at anew."""

import random
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from mirrord.db.content.link_rows import store_links
from mirrord.db.database import Database
from mirrord.db.feed_cursors import lock_next_batch
from mirrord.documents.derivation_schedule import follow_changes
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.link_rule import LinkRule
from mirrord.domain.place import name_key
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of
from tests.support.rows import Connection

NAMES = ["Alpha", "alpha", "Beta", "Café", "Beta.md", "One", "Two", "Three"]
TARGETS = [
    "Alpha",
    "alpha.md",
    "Beta",
    "",
    "T/1",
    "Nick",
    "One/Alpha",
    "Two/Alpha",
    "../Alpha",
    "../Two/Beta",
    "/One/Beta",
]
STEPS = 80

Links = dict[tuple[UUID, int], tuple[Any, ...]]


class Tree:
    """Pages of one tenant, changed at random as the daemon changes rows."""

    def __init__(self, connection: Connection, database: Database, tenant: TenantId, seed: int) -> None:
        self.connection, self.database, self.tenant = connection, database, tenant
        self.chance = random.Random(seed)
        self.pages: list[UUID] = []

    async def change(self) -> None:
        """One change; what the schema refuses is none."""
        try:
            await self.chance.choice(
                [self.add, self.add, *[self.place] * 4, self.call, self.say, self.say, self.delete]
            )()
        except (errors.UniqueViolation, errors.CheckViolation):
            pass

    def some(self) -> UUID | None:
        return self.chance.choice([None, *self.pages])

    async def add(self) -> None:
        page, name = uuid4(), self.chance.choice(NAMES)
        self.connection.execute(
            "INSERT INTO mirrord.page (id, name, name_key, parent_id, title, markdown, digest, content, frontmatter) "
            "VALUES (%s, %s, %s, %s, %s, '', 'x', '{}', '{}')",
            [page, name, name_key(name), self.some(), name],
        )
        self.pages.append(page)
        await self.say(page)

    async def place(self) -> None:
        name = self.chance.choice(NAMES)
        self.connection.execute(
            "UPDATE mirrord.page SET name = %s, name_key = %s, parent_id = %s, index = %s "
            "WHERE id = %s AND deleted_at IS NULL",
            [name, name_key(name), self.some(), self.chance.random() < 0.5, self.some()],
        )

    async def call(self) -> None:
        aliases = Jsonb({"aliases": self.chance.choice([None, "Nick", ["Nick", "Alpha"]])})
        title = self.chance.choice([*NAMES, "T/1"])
        self.connection.execute(
            "UPDATE mirrord.page SET title = %s, frontmatter = %s WHERE id = %s", [title, aliases, self.some()]
        )

    async def delete(self) -> None:
        """Or bring back; what holds life comes back by itself, unplaced, and gets a name that is free."""
        self.connection.execute(
            "UPDATE mirrord.page SET deleted_at = CASE WHEN deleted_at IS NULL THEN now() END WHERE id = %s",
            [self.some()],
        )
        self.connection.execute(
            "UPDATE mirrord.page SET name = 'Restored ' || id, name_key = 'restored ' || id "
            "WHERE deleted_at IS NULL AND name_key IS NULL"
        )

    async def say(self, page: UUID | None = None) -> None:
        page = page or self.some()
        chosen = self.chance.choices(TARGETS, k=self.chance.randrange(4))
        text = " ".join(self.chance.choice([f"[[{name}#h]]", f"[a]({name}#h)"]) for name in chosen)
        row = self.connection.execute("SELECT version FROM mirrord.page WHERE id = %s", [page]).fetchone()
        if row and page:
            async with self.database.transaction(self.tenant) as connection:
                await store_links(connection, self.tenant, [(EntryId(page), row[0], links_of(PageText(text)))])

    async def link(self) -> Links:
        """What links mean once nothing is due."""
        linked_count = 1
        while linked_count:
            async with self.database.transaction(self.tenant) as connection:
                batch = await lock_next_batch(connection, self.tenant)
                linked_count = (await follow_changes(connection, self.tenant, batch, LinkRule.NEVER)).count
        rows = self.connection.execute(
            "SELECT source_id, number, target, target_id, ambiguous, target_key FROM mirrord.page_link"
        ).fetchall()
        return {(source, number): tuple(meaning) for source, number, *meaning in rows}

    def forget(self) -> None:
        """All that was ever found out."""
        for statement in (
            "DELETE FROM mirrord.link_name",
            "DELETE FROM mirrord.link_cursor",
            "UPDATE mirrord.page_link SET due = true, target_id = NULL, ambiguous = false, target_key = NULL",
        ):
            self.connection.execute(statement.encode())


@pytest.mark.parametrize("seed", range(4))
async def test_links_mean_what_they_would_mean_anew(
    daemon_connection: Connection, database: Database, tenant: TenantId, seed: int
) -> None:
    tree = Tree(daemon_connection, database, tenant, seed)
    resolved = 0
    for step in range(STEPS):
        await tree.change()
        if step % 3 == 0:
            meanings = await tree.link()
    for _ in range(5):
        await tree.change()
        meanings = await tree.link()
        tree.forget()
        assert meanings == await tree.link()
        resolved += sum(row[1] is not None for row in meanings.values())
    assert resolved > 0
