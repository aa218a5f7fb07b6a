"""
The tables of the bound apps.

Notes of Markdown that are removed, with files; blocks of TipTap documents that are marked; and a wiki with spaces.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.tokens import TOKEN


@dataclass(frozen=True, slots=True)
class AppRow:
    """A living row of the app, as its page should be. body: of Markdown; else None."""

    parent: str | None
    title: str
    place: int
    body: str | None
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """
    The tables of an app, and what it does with them. SQL has `{s}` for the schema.

    pages: the table of pages. body: the table of bodies. has_trash: rows are marked as deleted, not removed.
    is_living: the condition on a living row. append: parameters are a body part and an id. has_files: there is a table
    of files. has_spaces: there is one of spaces; of a row without a parent it is `space:` and the id of its space.
    """

    name: str
    tables: str
    mapping: str
    pages: str
    body: str
    has_trash: bool
    is_living: str
    append: str
    replace: str
    insert_body: str | None
    rows: str
    rewrites: tuple[str, ...]
    has_files: bool = False
    has_spaces: bool = False

    def part_of(self, text: str) -> str:
        """A paragraph, as `append` takes it."""
        return f"\n{text}\n" if self.insert_body is None else json.dumps([_paragraph(text)])

    def body_of(self, text: str) -> str:
        """A whole body of one paragraph."""
        return f"{text}\n" if self.insert_body is None else json.dumps({"type": "doc", "content": [_paragraph(text)]})

    def row_of(self, values: Sequence[Any]) -> AppRow:
        """A row of `rows`, without its id."""
        parent, title, place, body = values
        text = body if self.insert_body is None else None
        return AppRow(parent, title, place, text, tuple(TOKEN.findall(body or "")))


def _paragraph(text: str) -> dict[str, Any]:
    return {"type": "paragraph", "content": [{"type": "text", "text": text}]}


NOTES = Shape(
    name="notes",
    tables="""
CREATE TABLE {s}.note (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    parent uuid REFERENCES {s}.note ON DELETE SET NULL,
    title text NOT NULL,
    place integer NOT NULL DEFAULT 0,
    body text NOT NULL DEFAULT '',
    version integer NOT NULL DEFAULT 1,
    views integer NOT NULL DEFAULT 0
);
CREATE TABLE {s}.upload (
    id serial PRIMARY KEY, note uuid REFERENCES {s}.note ON DELETE CASCADE, name text NOT NULL, content bytea
)""",
    mapping="""
[binding]
name = "app"
mode = "both"
[page]
table = "{s}.note"
id = "id"
title = "title"
parent = "parent"
order = { int = "place" }
version = "version"
delete = "row"
create = { views = "'0'" }
[body]
column = "body"
format = "markdown"
[files]
table = "{s}.upload"
id = "id"
page = "note"
name = "name"
bytes = "content"
""",
    pages="{s}.note",
    body="{s}.note",
    has_trash=False,
    is_living="true",
    append="UPDATE {s}.note SET body = body || %s, version = version + 1 WHERE id::text = %s",
    replace="UPDATE {s}.note SET body = %s, version = version + 1 WHERE id::text = %s",
    insert_body=None,
    rows="SELECT id::text, parent::text, title, place, body FROM {s}.note",
    rewrites=(
        "ALTER TABLE {s}.note ALTER COLUMN views TYPE bigint",
        "ALTER TABLE {s}.note ALTER COLUMN views TYPE integer",
        "VACUUM FULL {s}.note",
        "ALTER TABLE {s}.note ADD COLUMN IF NOT EXISTS stamp timestamptz DEFAULT clock_timestamp()",
    ),
    has_files=True,
)
BLOCKS = Shape(
    name="blocks",
    tables="""
CREATE TABLE {s}.page (
    id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
    parent text REFERENCES {s}.page ON DELETE SET NULL,
    title text NOT NULL,
    place integer NOT NULL DEFAULT 0,
    views integer NOT NULL DEFAULT 0,
    deleted_at timestamptz
);
CREATE TABLE {s}.block (
    id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
    page text NOT NULL UNIQUE REFERENCES {s}.page ON DELETE CASCADE,
    content jsonb,
    version integer NOT NULL DEFAULT 1
)""",
    mapping="""
[binding]
name = "app"
mode = "both"
[page]
table = "{s}.page"
id = "id"
title = "title"
parent = "parent"
order = { int = "place" }
deleted = "deleted_at"
create = { }
[body]
table = "{s}.block"
match = { page = "id" }
column = "content"
format = "tiptap"
version = "version"
create = { }
""",
    pages="{s}.page",
    body="{s}.block",
    has_trash=True,
    is_living="deleted_at IS NULL",
    append="UPDATE {s}.block SET version = version + 1, content = jsonb_set(content, '{content}', "
    "coalesce(content -> 'content', '[]') || %s::jsonb) WHERE page = %s",
    replace="UPDATE {s}.block SET content = %s, version = version + 1 WHERE page = %s",
    insert_body="INSERT INTO {s}.block (content, page) VALUES (%s, %s)",
    rows="SELECT p.id, p.parent, p.title, p.place, b.content::text FROM {s}.page AS p "
    "LEFT JOIN {s}.block AS b ON b.page = p.id WHERE p.deleted_at IS NULL",
    rewrites=(
        "ALTER TABLE {s}.page ALTER COLUMN views TYPE bigint",
        "ALTER TABLE {s}.page ALTER COLUMN views TYPE integer",
        "VACUUM FULL {s}.block",
        "ALTER TABLE {s}.block ADD COLUMN IF NOT EXISTS stamp timestamptz DEFAULT clock_timestamp()",
    ),
)
WIKI = Shape(
    name="wiki",
    tables="""
CREATE TABLE {s}.space (id integer PRIMARY KEY, name text NOT NULL);
INSERT INTO {s}.space VALUES (1, 'Garden'), (2, 'House'), (3, 'Shed');
CREATE TABLE {s}.doc (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    space integer REFERENCES {s}.space DEFAULT 1,
    parent uuid REFERENCES {s}.doc ON DELETE SET NULL,
    title text NOT NULL,
    place integer NOT NULL DEFAULT 0,
    body text NOT NULL DEFAULT '',
    views integer NOT NULL DEFAULT 0
)""",
    mapping="""
[binding]
name = "app"
mode = "both"
[space]
table = "{s}.space"
id = "id"
title = "name"
[page]
table = "{s}.doc"
id = "id"
title = "title"
parent = "parent"
space = "space"
order = { int = "place" }
delete = "row"
create = { views = "'0'" }
[body]
column = "body"
format = "markdown"
""",
    pages="{s}.doc",
    body="{s}.doc",
    has_trash=False,
    is_living="true",
    append="UPDATE {s}.doc SET body = body || %s WHERE id::text = %s",
    replace="UPDATE {s}.doc SET body = %s WHERE id::text = %s",
    insert_body=None,
    rows="SELECT id::text, coalesce(parent::text, 'space:' || space), title, place, body FROM {s}.doc",
    rewrites=("ALTER TABLE {s}.doc ALTER COLUMN views TYPE bigint", "VACUUM FULL {s}.doc"),
    has_spaces=True,
)
SHAPES = (NOTES, BLOCKS, WIKI)
