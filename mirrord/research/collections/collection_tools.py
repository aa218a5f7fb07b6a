"""Tools for collections and categories."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import (
    COUNT,
    FLAG,
    TEXT,
    A,
    Schema,
    Underscored,
    array_schema,
    from_json,
    nullable,
    object_schema,
    result_schema,
)
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.research.collections.collection_content import (
    CollectionContent,
    RecordList,
    collection_content,
    list_records,
)
from mirrord.research.collections.collection_rules import CATEGORIES, COLLECTIONS
from mirrord.research.collections.record_drafts import ChangedRecord

_CATEGORY = object_schema(name=TEXT, dir=TEXT, patterns=array_schema(TEXT), description=nullable(TEXT))
_COLLECTION = object_schema(name=TEXT, categories=array_schema(TEXT), description=nullable(TEXT))
_CONTENT_PAGE = object_schema(path=TEXT, title=TEXT, page_id=TEXT, category=TEXT)

Texts = Annotated[tuple[str, ...], BeforeValidator(from_json)]
Patterns = Annotated[Texts, Field(description="Default: all pages.")]
Directory = Annotated[str, Field(description="Default: the root.")]


class List(Underscored):
    """What the lists take."""

    verbose: Annotated[bool, Field(description="Files and dates too.")] = False
    cursor: str | None = None


class Named(Underscored):
    """What removals take."""

    name: str


class AddCollection(Underscored):
    """What collection_add takes."""

    name: str
    description: str | None = None
    categories: Texts = ()


class ChangeCollection(Underscored):
    """What collection_change takes."""

    name: str
    new_name: str | None = None
    description: str | None = None
    categories: Texts | None = None


class UpdateCollection(Underscored):
    """What collection_update takes."""

    name: str
    add_categories: Texts | None = None
    remove_categories: Texts | None = None


class Ask(Underscored):
    """What collection_content takes."""

    name: str
    cursor: str | None = None


class AddCategory(Underscored):
    """What category_add takes."""

    name: str
    dir: Directory = ""
    patterns: Patterns = ()
    description: str | None = None


class ChangeCategory(Underscored):
    """What category_change takes."""

    name: str
    new_name: str | None = None
    dir: str | None = None
    patterns: Texts | None = None
    description: str | None = None


class UpdateCategory(Underscored):
    """What category_update takes."""

    name: str
    add_patterns: Texts | None = None
    remove_patterns: Texts | None = None


def _list_collections(session: Session, arguments: List) -> Wire:
    return _list_answer(list_records(session, COLLECTIONS, arguments.verbose, arguments.cursor))


def _list_content(session: Session, arguments: Ask) -> Wire:
    return _content_answer(collection_content(session, arguments.name, arguments.cursor))


def _list_categories(session: Session, arguments: List) -> Wire:
    return _list_answer(list_records(session, CATEGORIES, arguments.verbose, arguments.cursor))


def _changed_record_answer(record: ChangedRecord) -> Wire:
    return _success_answer(record.value, record.message)


def _list_answer(page: RecordList) -> Wire:
    return _with_cursor(_success_answer(page.values, " ".join(page.problems) or None), page.next_cursor)


def _content_answer(content: CollectionContent) -> Wire:
    pages = [
        {"path": page.path, "title": page.title, "page_id": page.page_id, "category": page.category}
        for page in content.pages
    ]
    value = {"name": content.name, "pages": pages, "total_count": content.total}
    return _with_cursor(_success_answer(value, " ".join(content.problems) or None), content.next_cursor)


def _with_cursor(answer: Wire, cursor: str | None) -> Wire:
    return answer if cursor is None else {**answer, "next_cursor": cursor}


def _success_answer(value: object, message: str | None) -> Mapping[str, Any]:
    return {"success": True, "value": value, **({"message": message} if message is not None else {})}


def _result_schema(value: Schema, **keys: Schema) -> Schema:
    return result_schema({"success": FLAG, "value": value, "message?": TEXT, **keys})


_NEXT_CURSOR: dict[str, Schema] = {"next_cursor?": TEXT}

_VALUES = {"collection": _COLLECTION, "category": _CATEGORY}


def _changing_tool(name: str, arguments: type[A], description: str, example: str) -> Tool[A]:
    kind, verb = name.split("_")
    return Tool(
        name,
        f"{verb.capitalize()} a {kind}",
        f"{description} Example: {example}.",
        arguments,
        _result_schema(_VALUES[kind]),
        wire=_changed_record_answer,
        writes=True,
        destructive=verb in ("remove", "change"),
        idempotent=verb == "update",
    )


_COLLECTION_LIST = Tool(
    "collection_list",
    "List collections",
    "Lists collections, the oldest first. Example: {}.",
    List,
    _result_schema(array_schema(_COLLECTION), **_NEXT_CURSOR),
    _list_collections,
)
_COLLECTION_CONTENT = Tool(
    "collection_content",
    "Pages of a collection",
    "Returns a collection's pages: category by category, each page once, in the order of the sidebar. "
    'Example: {"name": "interviews"}.',
    Ask,
    _result_schema(object_schema(name=TEXT, pages=array_schema(_CONTENT_PAGE), total_count=COUNT), **_NEXT_CURSOR),
    _list_content,
)
_CATEGORY_LIST = Tool(
    "category_list",
    "List categories",
    "Lists categories, the oldest first. Example: {}.",
    List,
    _result_schema(array_schema(_CATEGORY), **_NEXT_CURSOR),
    _list_categories,
)
COLLECTION_TOOLS: tuple[Tool[Any], ...] = (
    _COLLECTION_LIST,
    _COLLECTION_CONTENT,
    _changing_tool(
        "collection_add",
        AddCollection,
        "Makes a collection of categories that exist.",
        '{"name": "interviews", "categories": ["wave-1", "wave-2"]}',
    ),
    _changing_tool(
        "collection_remove",
        Named,
        "Trashes a collection; its categories and pages stay.",
        '{"name": "interviews"}',
    ),
    _changing_tool(
        "collection_change",
        ChangeCollection,
        "Replaces what is given; for single categories use collection_update.",
        '{"name": "interviews", "new_name": "talks"}',
    ),
    _changing_tool(
        "collection_update",
        UpdateCollection,
        "Takes categories out of a collection, even if it lacks them, then adds others at its end.",
        '{"name": "interviews", "add_categories": ["wave-3"]}',
    ),
    _CATEGORY_LIST,
    _changing_tool(
        "category_add",
        AddCategory,
        "Makes a category of the pages below dir that fit its patterns: * within a name, ** any folders, drafts/ a "
        "folder, ! takes out again.",
        '{"name": "wave-1", "dir": "Interviews", "patterns": ["2026/**", "!drafts/"]}',
    ),
    _changing_tool(
        "category_remove",
        Named,
        "Trashes a category and takes it out of all collections; pages stay.",
        '{"name": "wave-1"}',
    ),
    _changing_tool(
        "category_change",
        ChangeCategory,
        "Replaces what is given; collections follow to a new name.",
        '{"name": "wave-1", "patterns": ["2025/**"]}',
    ),
    _changing_tool(
        "category_update",
        UpdateCategory,
        "Takes patterns out of a category, then adds others at its end, where they decide.",
        '{"name": "wave-1", "add_patterns": ["!old-*"]}',
    ),
)
