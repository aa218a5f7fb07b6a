"""Tools for collections and the categories they are made of."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from mirrord.commands.categories import list_categories
from mirrord.commands.collection_content import Content, collection_content
from mirrord.commands.collections import list_collections
from mirrord.commands.drafts import Done, Listed
from mirrord.commands.session import Session
from mirrord.mcp.arguments import Underscored, from_json
from mirrord.mcp.shapes import COUNT, FLAG, TEXT, Schema, listed, nullable, record, result
from mirrord.mcp.tool import Tool, Wire

_TOLD = " People are notified."
_CATEGORY = record(name=TEXT, dir=TEXT, patterns=listed(TEXT), description=nullable(TEXT))
_COLLECTION = record(name=TEXT, categories=listed(TEXT), description=nullable(TEXT))
_MEANT = record(path=TEXT, title=TEXT, page_id=TEXT, category=TEXT)

Texts = Annotated[tuple[str, ...], BeforeValidator(from_json)]
Cursor = Annotated[str | None, Field(description="next_cursor, to go on.")]
Name = Annotated[str, Field(description="1-30 letters, digits, - and _.")]
Description = Annotated[str | None, Field(description="At most 500 characters, no quotes.")]
Cleared = Annotated[str | None, Field(description='"" clears it.')]
Patterns = Annotated[Texts, Field(description="Globs below dir; none: all its pages.")]
Directory = Annotated[str, Field(description="Folder of the pages; default: the root.")]


class List(Underscored):
    """What the lists take."""

    verbose: Annotated[bool, Field(description="With files and dates.")] = False
    cursor: Cursor = None


class Named(Underscored):
    """What removals take."""

    name: str


class AddCollection(Underscored):
    """What collection_add takes."""

    name: Name
    description: Description = None
    categories: Annotated[Texts, Field(description="Names of categories, in order.")] = ()


class ChangeCollection(Underscored):
    """What collection_change takes."""

    name: str
    new_name: str | None = None
    description: Cleared = None
    categories: Annotated[Texts | None, Field(description="Instead of all it has.")] = None


class UpdateCollection(Underscored):
    """What collection_update takes."""

    name: str
    add_categories: Texts | None = None
    remove_categories: Texts | None = None


class Ask(Underscored):
    """What collection_content takes."""

    name: str
    cursor: Cursor = None


class AddCategory(Underscored):
    """What category_add takes."""

    name: Name
    dir: Directory = ""
    patterns: Patterns = ()
    description: Description = None


class ChangeCategory(Underscored):
    """What category_change takes."""

    name: str
    new_name: str | None = None
    dir: str | None = None
    patterns: Annotated[Texts | None, Field(description="Instead of all it has.")] = None
    description: Cleared = None


class UpdateCategory(Underscored):
    """What category_update takes."""

    name: str
    add_patterns: Texts | None = None
    remove_patterns: Texts | None = None


def _list_collections(session: Session, given: List) -> Wire:
    return _listed(list_collections(session, given.verbose, given.cursor))


def _content(session: Session, given: Ask) -> Wire:
    return _meant(collection_content(session, given.name, given.cursor))


def _list_categories(session: Session, given: List) -> Wire:
    return _listed(list_categories(session, given.verbose, given.cursor))


def _done(done: Done) -> Wire:
    return _succeeded(done.value, done.message)


def _listed(found: Listed) -> Wire:
    return _going_on(_succeeded(found.values, " ".join(found.problems) or None), found.next_cursor)


def _meant(content: Content) -> Wire:
    pages = [
        {"path": page.path, "title": page.title, "page_id": page.page_id, "category": page.category}
        for page in content.pages
    ]
    value = {"name": content.name, "pages": pages, "total_count": content.total}
    return _going_on(_succeeded(value, " ".join(content.problems) or None), content.next_cursor)


def _going_on(answer: Wire, cursor: str | None) -> Wire:
    return answer if cursor is None else {**answer, "next_cursor": cursor}


def _succeeded(value: object, message: str | None) -> Mapping[str, Any]:
    return {"success": True, "value": value, **({"message": message} if message is not None else {})}


def _result(value: Schema, **more: Schema) -> Schema:
    return result({"success": FLAG, "value": value, "message?": TEXT, **more})


_GOES_ON: dict[str, Schema] = {"next_cursor?": TEXT}

COLLECTION_LIST = Tool(
    "collection_list",
    "List collections",
    "Lists all collections, the oldest first, with their categories in order. A collection is an ordered list of "
    'categories, and each of these means pages. Example: {"verbose": true}.',
    List,
    _result(listed(_COLLECTION), **_GOES_ON),
    _list_collections,
)
COLLECTION_CONTENT = Tool(
    "collection_content",
    "Pages of a collection",
    "Returns the pages a collection means: category by category, each page once, in the order of the sidebar. Long "
    'lists go on with cursor = next_cursor. Example: {"name": "interviews"}.',
    Ask,
    _result(record(name=TEXT, pages=listed(_MEANT), total_count=COUNT), **_GOES_ON),
    _content,
)
COLLECTION_ADD = Tool(
    "collection_add",
    "Add a collection",
    f"Makes a collection of categories that exist. Names are unique without case.{_TOLD} "
    'Example: {"name": "interviews", "categories": ["wave-1", "wave-2"]}.',
    AddCollection,
    _result(_COLLECTION),
    wire=_done,
    writes=True,
    idempotent=False,
)
COLLECTION_REMOVE = Tool(
    "collection_remove",
    "Remove a collection",
    f"Moves a collection's file to the trash; its categories and all pages stay.{_TOLD} "
    'Example: {"name": "interviews"}.',
    Named,
    _result(_COLLECTION),
    wire=_done,
    writes=True,
    destructive=True,
    idempotent=False,
)
COLLECTION_CHANGE = Tool(
    "collection_change",
    "Change a collection",
    "Replaces a collection's name, description or whole list of categories; what is not given stays. To add or take "
    f"out single categories use collection_update.{_TOLD} "
    'Example: {"name": "interviews", "new_name": "talks", "categories": ["wave-2"]}.',
    ChangeCollection,
    _result(_COLLECTION),
    wire=_done,
    writes=True,
    destructive=True,
    idempotent=False,
)
COLLECTION_UPDATE = Tool(
    "collection_update",
    "Update a collection",
    "Takes categories out of a collection, then puts others at its end; one that it lacks may be taken out, too."
    f"{_TOLD} "
    'Example: {"name": "interviews", "add_categories": ["wave-3"], "remove_categories": ["wave-1"]}.',
    UpdateCollection,
    _result(_COLLECTION),
    wire=_done,
    writes=True,
)
CATEGORY_LIST = Tool(
    "category_list",
    "List categories",
    "Lists all categories, the oldest first. A category is a folder with patterns over the pages below it. "
    'Example: {"verbose": true}.',
    List,
    _result(listed(_CATEGORY), **_GOES_ON),
    _list_categories,
)
CATEGORY_ADD = Tool(
    "category_add",
    "Add a category",
    "Makes a category of the pages below dir that fit its patterns: * within a name, ** for any folders, drafts/ for a "
    f"folder, ! takes out again.{_TOLD} "
    'Example: {"name": "wave-1", "dir": "Interviews", "patterns": ["2026/**", "!drafts/"]}.',
    AddCategory,
    _result(_CATEGORY),
    wire=_done,
    writes=True,
    idempotent=False,
)
CATEGORY_REMOVE = Tool(
    "category_remove",
    "Remove a category",
    f"Moves a category's file to the trash and takes it out of all collections; pages stay.{_TOLD} "
    'Example: {"name": "wave-1"}.',
    Named,
    _result(_CATEGORY),
    wire=_done,
    writes=True,
    destructive=True,
    idempotent=False,
)
CATEGORY_CHANGE = Tool(
    "category_change",
    "Change a category",
    "Replaces a category's name, dir, patterns or description; what is not given stays. Collections follow to a new "
    f"name.{_TOLD} "
    'Example: {"name": "wave-1", "new_name": "first-wave", "patterns": ["2025/**"]}.',
    ChangeCategory,
    _result(_CATEGORY),
    wire=_done,
    writes=True,
    destructive=True,
    idempotent=False,
)
CATEGORY_UPDATE = Tool(
    "category_update",
    "Update a category",
    f"Takes patterns out of a category, then puts others at its end, where they decide.{_TOLD} "
    'Example: {"name": "wave-1", "add_patterns": ["!old-*"], "remove_patterns": ["2025/**"]}.',
    UpdateCategory,
    _result(_CATEGORY),
    wire=_done,
    writes=True,
)

COLLECTIONS: tuple[Tool[Any], ...] = (
    *(COLLECTION_LIST, COLLECTION_CONTENT, COLLECTION_ADD, COLLECTION_REMOVE, COLLECTION_CHANGE, COLLECTION_UPDATE),
    *(CATEGORY_LIST, CATEGORY_ADD, CATEGORY_REMOVE, CATEGORY_CHANGE, CATEGORY_UPDATE),
)
