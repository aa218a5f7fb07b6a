"""The mappings of the guide work as they are, on tables as the apps' migrations make them; no app itself runs here."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mirrord.binding.mappings.mapping_file import parse_mapping
from tests.binding.knowledge_base import BoundWorld
from tests.support.harness import eventually

GUIDE = (Path(__file__).parents[2] / "docs" / "binding.md").read_text(encoding="utf-8")
TEAM = "11111111-1111-4111-8111-111111111111"
SPACE, HIDDEN = "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"
ABOVE, BELOW = "44444444-4444-4444-8444-444444444444", "55555555-5555-4555-8555-555555555555"

RAILS = """
CREATE TABLE articles (
    id bigserial PRIMARY KEY, title character varying, discarded_at timestamp(6) without time zone,
    created_at timestamp(6) without time zone NOT NULL, updated_at timestamp(6) without time zone NOT NULL
);
CREATE TABLE action_text_rich_texts (
    id bigserial PRIMARY KEY, name character varying NOT NULL, body text, record_type character varying NOT NULL,
    record_id bigint NOT NULL, created_at timestamp(6) without time zone NOT NULL,
    updated_at timestamp(6) without time zone NOT NULL
);
CREATE UNIQUE INDEX ON action_text_rich_texts (record_type, record_id, name);
INSERT INTO articles (title, created_at, updated_at) VALUES ('Beans', now(), now());
INSERT INTO action_text_rich_texts (name, body, record_type, record_id, created_at, updated_at) VALUES
    ('body', '<div>Green and <strong>tasty</strong>.<br><br>In rows.</div>', 'Article', 1, now(), now()),
    ('summary', '<div>Short.</div>', 'Article', 1, now(), now()),
    ('body', '<div>Of a comment.</div>', 'Comment', 1, now(), now());
"""
STRAPI = """
CREATE TABLE articles (
    id serial PRIMARY KEY, document_id varchar(255), title varchar(255), body text, created_at timestamp(6),
    updated_at timestamp(6), published_at timestamp(6), created_by_id integer, updated_by_id integer,
    locale varchar(255)
);
INSERT INTO articles (document_id, title, body, published_at) VALUES
    ('a', 'Beans', 'Draft *words*.', NULL), ('a', 'Beans', 'Green *beans*.', now());
"""
WIKI_JS = """
CREATE TABLE pages (
    id serial PRIMARY KEY, path varchar(255) NOT NULL, hash varchar(255) NOT NULL, title varchar(255) NOT NULL,
    description varchar(255), "isPrivate" boolean NOT NULL DEFAULT false, "isPublished" boolean NOT NULL DEFAULT false,
    "privateNS" varchar(255), "publishStartDate" varchar(255), "publishEndDate" varchar(255), content text, render text,
    toc json, "contentType" varchar(255) NOT NULL, "createdAt" varchar(255) NOT NULL, "updatedAt" varchar(255) NOT NULL,
    "editorKey" varchar(255), "localeCode" varchar(5), "authorId" integer, "creatorId" integer, extra json NOT NULL
);
INSERT INTO pages (path, hash, title, description, "isPrivate", "isPublished", content, "contentType", "createdAt",
                   "updatedAt", "editorKey", "localeCode", extra) VALUES
    ('home', 'h1', 'Home', 'Begin', false, true, 'Welcome.', 'markdown', '2026', '2026', 'markdown', 'en', '{}'),
    ('garden/beans', 'h2', 'Beans', '', false, true, 'Green.', 'markdown', '2026', '2026', 'markdown', 'en', '{}'),
    ('garden/beans', 'h3', 'Bohnen', '', false, true, 'Grün.', 'markdown', '2026', '2026', 'markdown', 'de', '{}'),
    ('diary/today', 'h4', 'Diary', '', true, true, 'Secret.', 'markdown', '2026', '2026', 'markdown', 'en', '{}'),
    ('garden/draft', 'h5', 'Draft', '', false, false, 'Secret.', 'markdown', '2026', '2026', 'markdown', 'en', '{}');
"""
DOCMOST = """
CREATE TABLE spaces (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name varchar, description text, slug varchar NOT NULL, logo varchar,
    visibility varchar NOT NULL DEFAULT 'private', default_role varchar NOT NULL DEFAULT 'writer', creator_id uuid,
    workspace_id uuid NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(), deleted_at timestamptz, UNIQUE (slug, workspace_id)
);
CREATE TABLE pages (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), slug_id varchar NOT NULL UNIQUE, title varchar, icon varchar,
    cover_photo varchar, position varchar, content jsonb, ydoc bytea, text_content text, tsv tsvector,
    parent_page_id uuid REFERENCES pages ON DELETE CASCADE, creator_id uuid, last_updated_by_id uuid,
    deleted_by_id uuid, space_id uuid NOT NULL REFERENCES spaces ON DELETE CASCADE, workspace_id uuid NOT NULL,
    is_locked boolean NOT NULL DEFAULT false, created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(), deleted_at timestamptz
);
"""
OUTLINE = """
CREATE TABLE collections (
    id uuid PRIMARY KEY, "urlId" varchar(255), name varchar(255) NOT NULL, "teamId" uuid NOT NULL,
    "documentStructure" jsonb, permission varchar(255), "deletedAt" timestamptz, "archivedAt" timestamptz
);
CREATE TABLE documents (
    id uuid PRIMARY KEY, "urlId" varchar(255) NOT NULL UNIQUE, title varchar(255) NOT NULL, text text, content jsonb,
    state bytea, "teamId" uuid NOT NULL, "collectionId" uuid, "parentDocumentId" uuid,
    template boolean NOT NULL DEFAULT false, "revisionCount" integer DEFAULT 0, "publishedAt" timestamptz,
    "archivedAt" timestamptz, "deletedAt" timestamptz
);
"""


def recipe(name: str) -> str:
    """The mapping of the guide with that name of a binding, for the tenant of the tests."""
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    (text,) = [block for block in blocks if f'name = "{name}"\n' in block]
    return str(text.replace('"0b1c…" = "acme"', f'"{TEAM}" = "demo"'))


def new_column_of(table: str) -> str:
    """The statement of the guide that adds a column to a table of an app."""
    (statement,) = re.findall(rf"^ALTER TABLE {table} .*;$", GUIDE, flags=re.MULTILINE)
    return str(statement)


def start(world: BoundWorld, name: str) -> None:
    world.mapping.write_text(recipe(name))
    world.bind("add", str(world.mapping))
    world.mirrord.up()


def await_rest(world: BoundWorld, name: str) -> None:
    """Return when every row is a page, and every page is in its file."""

    def is_at_rest() -> bool:
        status = json.loads(world.bind("status", name, "--json"))
        return status["queued"] == 0 and status["compared_at"] is not None

    eventually(is_at_rest, f"the binding {name} has nothing left to do")
    world.mirrord.flush()


def document_with(paragraph: dict[str, Any], list_type: str, item_type: str) -> str:
    item = {"type": item_type, "content": [{"type": "paragraph", "content": [{"type": "text", "text": "one"}]}]}
    return json.dumps({"type": "doc", "content": [paragraph, {"type": list_type, "content": [item]}]})


@pytest.fixture
def app(world: BoundWorld) -> BoundWorld:
    """A world in which the tables of apps are in `public`, as they are for an app that sets its search path."""
    world.admin.execute("SET search_path = public")
    return world


def test_every_mapping_of_the_guide_can_be_read() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    names = [
        parse_mapping(block).name for block in blocks if "[binding]" in block and "[page]" in block and "id =" in block
    ]
    assert {"notes", "kb", "articles", "rails", "strapi", "wiki", "docmost", "outline"} <= set(names)


def test_rails_with_action_text(app: BoundWorld) -> None:
    app.admin.execute(RAILS.encode())
    start(app, "rails")
    text = app.await_text("Beans.md", "Green and **tasty**.", "In rows.")
    assert "Short" not in text
    app.admin.execute("UPDATE action_text_rich_texts SET body = '<div>New.</div>' WHERE record_type = 'Article'")
    app.await_text("Beans.md", "New.")
    app.admin.execute("UPDATE articles SET discarded_at = now()")
    app.await_absence("Beans.md")


def test_strapi(app: BoundWorld) -> None:
    app.admin.execute(STRAPI.encode())
    app.admin.execute(new_column_of("articles").encode())
    start(app, "strapi")
    app.await_text("Beans.md", "Green *beans*.")
    app.admin.execute("UPDATE articles SET body = 'Broad *beans*.' WHERE published_at IS NOT NULL")
    app.await_text("Beans.md", "Broad *beans*.")
    assert not app.mirrord.file("Beans (2).md").exists()


def test_wiki_js(app: BoundWorld) -> None:
    app.admin.execute(WIKI_JS.encode())
    start(app, "wiki")
    app.await_text("garden/beans.md", "title: Beans\n", "Green.")
    app.await_text("home.md", "description: Begin\n", "Welcome.")
    await_rest(app, "wiki")
    app.admin.execute("UPDATE pages SET path = 'kitchen/beans' WHERE id = 2")
    app.await_text("kitchen/beans.md", "Green.")
    app.await_absence("garden.md")
    files = sorted(path.name for path in app.mirrord.root.rglob("*.md") if ".mirrord" not in path.parts)
    assert files == ["beans.md", "home.md", "kitchen.md"]


def test_docmost(app: BoundWorld) -> None:
    app.admin.execute(DOCMOST.encode())
    bold = {"type": "text", "text": "Green.", "marks": [{"type": "bold"}]}
    content = document_with({"type": "paragraph", "content": [bold]}, "bulletList", "listItem")
    insert_space = "INSERT INTO spaces (id, name, slug, workspace_id) VALUES (%s, %s, %s, %s)"
    app.admin.execute(insert_space, [SPACE, "Team", "general", TEAM])
    app.admin.execute(insert_space, [HIDDEN, "Diary", "diary", TEAM])
    insert_page = (
        "INSERT INTO pages (id, slug_id, title, icon, position, content, parent_page_id, space_id, workspace_id) "
        "VALUES (%s, %s, %s, '🌱', %s, %s, %s, %s, %s)"
    )
    app.admin.execute(insert_page, [ABOVE, "s1", "Garden", "a0", content, None, SPACE, TEAM])
    app.admin.execute(insert_page, [BELOW, "s2", "Beans", "a0V", content, ABOVE, SPACE, TEAM])
    app.admin.execute(insert_page, [HIDDEN, "s3", "Secret", "a1", content, None, HIDDEN, TEAM])
    start(app, "docmost")
    app.await_text("Team/Garden/Beans.md", f"id: {BELOW}", "position: a0V", "**Green.**", "- one")
    await_rest(app, "docmost")
    assert not app.mirrord.file("Diary.md").exists()
    assert not list(app.mirrord.root.rglob("Secret*.md"))


def test_outline(app: BoundWorld) -> None:
    app.admin.execute(OUTLINE.encode())
    app.admin.execute(new_column_of("documents").encode())
    strong = {"type": "text", "text": "Green.", "marks": [{"type": "strong"}]}
    content = document_with({"type": "paragraph", "content": [strong]}, "bullet_list", "list_item")
    insert_collection = 'INSERT INTO collections (id, name, "teamId") VALUES (%s, %s, %s)'
    app.admin.execute(insert_collection, [SPACE, "Handbook", TEAM])
    app.admin.execute(insert_collection, [HIDDEN, "Board", TEAM])
    insert_document = (
        'INSERT INTO documents (id, "urlId", title, content, "teamId", "collectionId", "parentDocumentId", template, '
        '"publishedAt") VALUES (%s, %s, %s, %s, %s, %s, %s, %s, now())'
    )
    app.admin.execute(insert_document, [ABOVE, "u1", "Garden", content, TEAM, SPACE, None, False])
    app.admin.execute(insert_document, [BELOW, "u2", "Beans", content, TEAM, SPACE, ABOVE, False])
    app.admin.execute(insert_document, [SPACE, "u3", "Form", content, TEAM, SPACE, None, True])
    app.admin.execute(insert_document, [HIDDEN, "u4", "Secret", content, TEAM, HIDDEN, None, False])
    for key, collection in (("u5", None), ("u6", SPACE)):
        app.admin.execute(insert_document, [uuid4(), key, "Draft", content, TEAM, collection, None, False])
    app.admin.execute("""UPDATE documents SET "publishedAt" = NULL WHERE title = 'Draft'""")
    start(app, "outline")
    app.await_text("Handbook/Garden/Beans.md", f"id: {BELOW}", "**Green.**", "- one")
    await_rest(app, "outline")
    files = sorted(path.name for path in app.mirrord.root.rglob("*.md") if ".mirrord" not in path.parts)
    assert files == ["Beans.md", "Garden.md", "Handbook.md"]
