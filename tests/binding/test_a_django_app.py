"""A Django app with a tree of articles, edited through its ORM: its rows are pages and files."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.commands import Near
from tests.support.harness import eventually

MAPPING = """
[binding]
name = "wiki"
[page]
table = "public.wiki_article"
id = "id"
title = "title"
parent = "parent_id"
[body]
column = "text"
format = "markdown"
"""
PROGRAM = Path(__file__).with_name("django_wiki.py")

if importlib.util.find_spec("django") is None or importlib.util.find_spec("mptt") is None:
    pytest.skip("django and django-mptt are not installed", allow_module_level=True)


class Wiki:
    """The app, in a process of its own."""

    def __init__(self, dsn: str) -> None:
        parameters = conninfo_to_dict(dsn)
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(parameters["host"]), str(parameters["dbname"])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, act: str, *values: object) -> int:
        """Carry out an act; the id of its article."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([act, *values]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=30)


@pytest.fixture
def wiki(fresh_dsn: str) -> Iterator[Wiki]:
    """The app with its tables."""
    app = Wiki(fresh_dsn)
    app.ask("install")
    yield app
    app.close()


def test_articles_are_files_wherever_the_orm_puts_them(wiki: Wiki, fresh_dsn: str, tmp_path: Path) -> None:
    with Near(tmp_path / "here", dsn=fresh_dsn) as mirrord:

        def await_body(path: str, body: str) -> None:
            eventually(lambda: (mirrord.text(path) or "").endswith(f"---\n{body}"), f"{path} ends with {body!r}")

        mapping = tmp_path / "wiki.toml"
        mapping.write_text(MAPPING)
        assert mirrord.run("init", "demo").returncode == 0
        garden = wiki.ask("create", "Garden", "# Beds\r\n\r\n* one\r\n* two\r\n")
        added = mirrord.run("bind", "add", str(mapping))
        assert added.returncode == 0, added.stderr
        mirrord.up()
        await_body("Garden.md", "# Beds\r\n\r\n* one\r\n* two\r\n")
        beans = wiki.ask("create", "Beans", "Green.", garden)
        await_body("Garden/Beans.md", "Green.")
        kitchen = wiki.ask("create", "Kitchen", "")
        wiki.ask("edit", beans, "Green and *long*.")
        wiki.ask("move", beans, kitchen)
        await_body("Kitchen/Beans.md", "Green and *long*.")
        wiki.ask("delete", garden)
        eventually(lambda: mirrord.text("Garden.md") is None, "the article is gone")
        await_body("Kitchen/Beans.md", "Green and *long*.")
