"""
A Django app: a wiki with a tree (django-mptt), edited through its ORM only.

Arguments: host and name of the database. Each line on standard input is a list: the act and its values; each line on
standard output is the id of its article.
"""

import json
import sys
from typing import Any

import django
from django.conf import settings

HOST, NAME = sys.argv[1:3]
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": HOST,
            "NAME": NAME,
            "USER": "postgres",
            "OPTIONS": {"options": "-c search_path=public"},
        }
    },
    INSTALLED_APPS=["mptt"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.db import connection, models  # noqa: E402  (models need the settings)
from mptt.models import MPTTModel, TreeForeignKey  # noqa: E402


class Article(MPTTModel):  # type: ignore[misc]
    """An article of the wiki."""

    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    parent = TreeForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        """Where the model is."""

        app_label = "wiki"


def install() -> int:
    """Create the tables."""
    with connection.schema_editor() as editor:
        editor.create_model(Article)
    return 0


def create(title: str, text: str, parent: int | None = None) -> int:
    """A new article."""
    above = Article.objects.get(pk=parent) if parent is not None else None
    return int(Article.objects.create(title=title, text=text, parent=above).pk)


def edit(article: int, text: str) -> int:
    """Give an article another text."""
    loaded = Article.objects.get(pk=article)
    loaded.text = text
    loaded.save()
    return article


def move(article: int, parent: int) -> int:
    """Move an article below another."""
    Article.objects.get(pk=article).move_to(Article.objects.get(pk=parent), "last-child")
    return article


def delete(article: int) -> int:
    """Delete an article, and with it those below."""
    Article.objects.get(pk=article).delete()
    return article


ACTS: dict[str, Any] = {"install": install, "create": create, "edit": edit, "move": move, "delete": delete}
for line in sys.stdin:
    act, *values = json.loads(line)
    sys.stdout.write(f"{ACTS[act](*values)}\n")
    sys.stdout.flush()
