"""Render the Markdown of a page after an app changed some of its views."""

from dataclasses import dataclass

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import (
    REMOVED,
    Json,
    Removed,
    with_keys,
)
from mirrord.markdown.frontmatter.page_text import PageText, first_line_ending
from mirrord.markdown.frontmatter.page_views import Views
from mirrord.markdown.schema.document import Document, check_document
from mirrord.markdown.write.splice import splice_document


@dataclass(frozen=True, slots=True)
class NewViews:
    """The views in the row. None: remove the key, no front matter, an empty body."""

    id: str | None
    title: str | None
    icon: str | None
    position: str | None
    frontmatter: dict[str, Json] | None
    content: Document | None


def render(page: PageText, ahead: frozenset[str], new_views: NewViews, stem: str) -> PageText:
    """
    The new Markdown of a page.

    Args:
        page: its current Markdown; empty if it has none yet.
        ahead: the names of the views that the app wrote; the others are ignored.
        stem: the file's name without ending, the title of a page whose front matter has none.

    A column takes precedence over the same key in `frontmatter`. `id` is added if the front matter has no
    such key, and never changed.

    Raises:
        Damaged: Markdown cannot hold the wanted views, or the front matter to change is not valid.
    """
    if "content" in ahead:
        page = _replace_content(page, new_views.content)
    if ahead - {"content"}:
        page = with_keys(page, _collect_changes(page.views, ahead, new_views, stem))
    return page


def _replace_content(page: PageText, content: Document | None) -> PageText:
    ending = first_line_ending(page.text)
    body = splice_document(page.body, check_document(content or {"type": "doc"}), ending)
    head = page.head
    if head and body and head[-1] not in "\r\n":
        head += ending
    for lead in ("", ending):  # without front matter, a `---` on the first line would begin one
        result = PageText(page.bom + head + lead + body)
        if result.parts == (page.bom, head, lead + body):
            return result
    raise Damaged("the change would turn the beginning of the page into front matter")


def _collect_changes(views: Views, ahead: frozenset[str], new_views: NewViews, stem: str) -> dict[str, Json | Removed]:
    if views.error:
        raise Damaged(views.error)
    changes = _changes_by_frontmatter(views, new_views) if "frontmatter" in ahead else {}
    columns = ahead & {"id", "title", "icon", "position"}
    return {key: value for key, value in changes.items() if key not in columns} | {
        key: value for key, value in _changes_by_columns(views, new_views, stem).items() if key in columns
    }


def _changes_by_frontmatter(views: Views, new_views: NewViews) -> dict[str, Json | Removed]:
    new = new_views.frontmatter or {}
    changes: dict[str, Json | Removed] = {key: REMOVED for key in views.frontmatter if key not in new}
    changes.update(new)
    if views.id is not None:
        changes.pop("id", None)
    return changes


def _changes_by_columns(views: Views, new_views: NewViews, stem: str) -> dict[str, Json | Removed]:
    """The changes by columns, each only if the page does not show that value already."""
    changes: dict[str, Json | Removed] = {}
    if new_views.id is not None and views.id is None:
        changes["id"] = new_views.id
    if new_views.title != (views.title or stem):
        changes["title"] = new_views.title or REMOVED
    if new_views.icon != views.icon:
        changes["icon"] = new_views.icon or REMOVED
    if new_views.position != views.position:
        changes["position"] = new_views.position or REMOVED
    return changes
