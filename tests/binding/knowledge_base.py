"""An app with tables of its own: a knowledge base whose pages are TipTap documents in blocks with a version."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, Self
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from tests.support.commands import Near
from tests.support.harness import eventually
from tests.support.rows import Connection

TENANT = "0b1c7d2e"  # as the app calls it
ROLE = "kb_app"  # owns the tables, and has no right in mirrord

SCHEMA = """
CREATE SCHEMA kb AUTHORIZATION kb_app;
SET ROLE kb_app;
CREATE TYPE kb.space AS ENUM ('TEAM', 'PRIVATE');
CREATE TABLE kb.pages (
    id text PRIMARY KEY,
    tenant_id text NOT NULL,
    space_type kb.space NOT NULL DEFAULT 'TEAM',
    parent_id text REFERENCES kb.pages ON DELETE SET NULL,
    title text NOT NULL,
    icon text,
    summary varchar(500),
    position integer NOT NULL DEFAULT 0,
    view_count integer NOT NULL DEFAULT 0,
    updated_at timestamp(3) NOT NULL DEFAULT now(),
    deleted_at timestamp(3)
);
CREATE TABLE kb.blocks (
    id text PRIMARY KEY,
    page_id text NOT NULL REFERENCES kb.pages ON DELETE CASCADE,
    type text NOT NULL,
    content jsonb,
    plain_text text,
    version integer NOT NULL DEFAULT 1,
    updated_at timestamp(3) NOT NULL DEFAULT now()
);
RESET ROLE;
"""
MAPPING = f"""
[binding]
name = "kb"
[tenant]
column = "tenant_id"
map = {{ "{TENANT}" = "demo" }}
[page]
table = "kb.pages"
id = "id"
title = "title"
parent = "parent_id"
order = {{ int = "position" }}
deleted = "deleted_at"
filter = {{ space_type = {{ not = "PRIVATE" }} }}
[body]
table = "kb.blocks"
match = {{ page_id = "id", type = "'DOCUMENT'" }}
column = "content"
format = "tiptap"
[front]
icon = "icon"
summary = "summary"
"""

NOTES_MAPPING = """
[binding]
name = "notes"
[tenant]
fixed = "demo"
[page]
table = "kb.notes"
id = "id"
title = "title"
[body]
column = "body"
format = "markdown"
"""
TWO_WAY_MAPPING = (
    MAPPING.replace('name = "kb"', 'name = "kb"\nmode = "both"')
    .replace('deleted = "deleted_at"', 'deleted = "deleted_at"\ntouch = { updated_at = "now" }')
    .replace(
        'column = "content"',
        'column = "content"\nversion = "version"\ntouch = { updated_at = "now" }\nplain = "plain_text"',
    )
    .replace('summary = "summary"', 'summary = { column = "summary", own = "in" }')
)
CREATING_MAPPING = TWO_WAY_MAPPING.replace(
    'touch = { updated_at = "now" }\n', 'touch = { updated_at = "now" }\ncreate = { space_type = "\'TEAM\'" }\n', 1
).replace('plain = "plain_text"', 'plain = "plain_text"\ncreate = { id = "uuid" }')


class OutdatedError(Exception):
    """What the app answers with 409: the page has another version than the editor expected."""


def document_of(*paragraphs: str) -> dict[str, Any]:
    """A TipTap document."""
    texts = ([{"type": "text", "text": text}] if text else [] for text in paragraphs)
    return {"type": "doc", "content": [{"type": "paragraph", "content": content} for content in texts]}


@dataclass(slots=True)
class KnowledgeBase:
    """The app: it knows its own tables only."""

    connection: Connection

    def create(self, title: str, *paragraphs: str, parent: str | None = None, **columns: object) -> str:
        """A new page; its id."""
        page, values = str(uuid4()), {"tenant_id": TENANT, "parent_id": parent, "title": title, **columns}
        with self.connection.transaction():
            names = ", ".join(["id", *values])
            self.connection.execute(
                f"INSERT INTO kb.pages ({names}) VALUES ({', '.join(['%s'] * (len(values) + 1))})".encode(),
                [page, *values.values()],
            )
            self.connection.execute(
                "INSERT INTO kb.blocks (id, page_id, type, content) VALUES (%s, %s, 'DOCUMENT', %s)",
                [str(uuid4()), page, json.dumps(document_of(*paragraphs))],
            )
        return page

    def save(self, page: str, *paragraphs: str, expected: int | None = None) -> None:
        """Save the body. Raises OutdatedError if it has another version than *expected*; None: any."""
        self.save_document(page, document_of(*paragraphs), expected)

    def save_document(self, page: str, document: dict[str, Any], expected: int | None = None) -> None:
        """Save the body as save() does."""
        saved = self.connection.execute(
            "UPDATE kb.blocks SET content = %s, version = version + 1, updated_at = now() "
            "WHERE page_id = %s AND type = 'DOCUMENT' AND (%s::integer IS NULL OR version = %s)",
            [json.dumps(document), page, expected, expected],
        )
        if not saved.rowcount:
            raise OutdatedError

    def change(self, page: str, **columns: object) -> None:
        """Change columns of a page."""
        pairs = ", ".join(f"{name} = %s" for name in columns)
        self.connection.execute(f"UPDATE kb.pages SET {pairs} WHERE id = %s".encode(), [*columns.values(), page])

    def page(self, page: str) -> dict[str, Any]:
        """The row of a page."""
        return self._row("SELECT * FROM kb.pages WHERE id = %s", page)

    def block(self, page: str) -> dict[str, Any]:
        """The row of the body of a page."""
        return self._row("SELECT * FROM kb.blocks WHERE page_id = %s AND type = 'DOCUMENT'", page)

    def body_text(self, page: str) -> str:
        """The paragraphs of a page, a line each."""
        paragraphs = self.block(page)["content"]["content"]
        return "\n".join("".join(child.get("text", "") for child in each.get("content", ())) for each in paragraphs)

    def _row(self, query: LiteralString, page: str) -> dict[str, Any]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            (row,) = cursor.execute(query, [page]).fetchall()
        return row

    def delete(self, page: str) -> None:
        """Move a page to the app's trash."""
        self.connection.execute("UPDATE kb.pages SET deleted_at = now() WHERE id = %s", [page])


@dataclass(slots=True)
class BoundWorld:
    """An installation, an app in the same database, and its connection, as the role that owns the app's tables."""

    mirrord: Near
    app: KnowledgeBase
    admin: Connection
    mapping: Path

    def __enter__(self) -> Self:
        return self

    def bind(self, *words: str, code: int = 0) -> str:
        """`mirrord bind`; what it printed."""
        completed = self.mirrord.run("bind", *words)
        assert completed.returncode == code, f"`bind {words}` exited {completed.returncode}: {completed.stderr}"
        return completed.stdout + completed.stderr

    def status(self) -> dict[str, Any]:
        """`mirrord bind status`."""
        status: dict[str, Any] = json.loads(self.mirrord.run("bind", "status", "kb", "--json").stdout)
        return status

    def conflicts(self) -> list[dict[str, Any]]:
        """`mirrord conflicts list`."""
        conflicts: list[dict[str, Any]] = json.loads(self.mirrord.run("conflicts", "list", "--json").stdout)
        return conflicts

    def await_state(self, state: str) -> dict[str, Any]:
        """The status of the binding when it is in *state*."""

        def status_in_state() -> dict[str, Any] | None:
            status = self.status()
            return status if status["state"] == state else None

        return eventually(status_in_state, f"the binding is {state}")

    def await_text(self, path: str, *parts: str) -> str:
        """The file at *path* when it has all of *parts*."""

        def full_text() -> str | None:
            text = self.mirrord.text(path)
            return text if text is not None and all(part in text for part in parts) else None

        return eventually(full_text, f"{path} has {parts}; it has {self.mirrord.text(path)!r}")

    def await_absence(self, path: str) -> None:
        """Return when there is no file at *path*."""
        eventually(lambda: self.mirrord.text(path) is None, f"{path} is gone")

    def delete_and_restore_family(self) -> None:
        """The app deletes a page and the one below it, and restores both in one transaction; their files follow."""
        parent = self.app.create("Parent", "P.")
        child = self.app.create("Child", "C.", parent=parent)
        for title in ("Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
            self.app.create(title, "S.")
            self.await_text(f"{title}.md", "S.")
        self.await_text("Parent/Child.md", "C.")
        with self.app.connection.transaction():
            self.app.delete(parent)
            self.app.delete(child)
        self.await_absence("Parent/Child.md")
        self.await_absence("Parent.md")
        with self.app.connection.transaction():
            self.app.change(parent, deleted_at=None)
            self.app.change(child, deleted_at=None)
        self.await_text("Parent/Child.md", "C.", f"id: {child}")
        self.await_text("Parent.md", "P.", f"id: {parent}")

    def await_body(self, page: str, part: str) -> None:
        """Return when the body of *page* in the app has *part*."""
        eventually(
            lambda: part in json.dumps(self.app.block(page)["content"], ensure_ascii=False),
            f"the app has {part!r} in {self.app.block(page)['content']}",
        )

    def await_column(self, page: str, column: str, value: object) -> None:
        """Return when *column* of *page* in the app is *value*."""
        eventually(lambda: self.app.page(page)[column] == value, f"{column} is {value!r} in {self.app.page(page)}")

    def await_rest(self) -> None:
        """Return when every change of the app is in its page, and every page is in its file."""
        eventually(self._is_at_rest, "the binding has nothing left to do")
        self.mirrord.flush()

    def _is_at_rest(self) -> bool:
        status = self.status()
        return status["queued"] == 0 and status["compared_at"] is not None


def install_app(dsn: str) -> KnowledgeBase:
    """The app's schema in the database of *dsn*, a superuser's, and its connection."""
    with psycopg.connect(dsn, autocommit=True) as superuser:
        superuser.execute("DO $$ BEGIN CREATE ROLE kb_app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        superuser.execute(SCHEMA.encode())
    return KnowledgeBase(psycopg.connect(make_conninfo(dsn, user=ROLE), autocommit=True))
