"""The names that mirrord uses although their dependencies do not document them are still there, and are all listed."""

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from mcp.server.mcpserver import MCPServer
from mcp.server.session import ServerSession
from psycopg import AsyncPipeline

from tests.architecture import ROOT, nodes, sources

STANDARD_LIBRARY = "Python"
DOCUMENTED = {"_exit", "_replace"}  # of os and of named tuples


@dataclass(frozen=True, slots=True)
class PrivateName:
    """dependency: as pyproject.toml names it. module: of mirrord, uses the name. exists: whether it is still there."""

    dependency: str
    name: str
    module: str
    exists: Callable[[], bool]


def is_in(module: str, *attributes: str) -> Callable[[], bool]:
    """Whether *module* can be imported and has *attributes*, each in the one before."""

    def look_up() -> bool:
        try:
            value: object = import_module(module)
        except ImportError:
            return False
        for attribute in attributes:
            value = getattr(value, attribute, None)
        return value is not None

    return look_up


def has_command_queue() -> bool:
    """Whether pipelines take their commands from `command_queue`: as a deque that is set once and read by name."""
    places = {kind.__module__ for kind in AsyncPipeline.__mro__ if kind.__module__.startswith("psycopg")}
    source = "".join(inspect.getsource(import_module(place)) for place in places)
    return "self.command_queue = " in source and "(self.pgconn, self.command_queue)" in source


def has_processes() -> bool:
    """Whether a pool of processes keeps them by number in `_processes`."""
    with ProcessPoolExecutor(1) as pool:
        return hasattr(pool, "_processes")


MARKDOWN_IT, PLUGINS = "markdown-it-py", "mdit-py-plugins"
PRIVATE_NAMES = [
    PrivateName("psycopg", "command_queue", "mirrord.db.transactions", has_command_queue),
    PrivateName(
        *(MARKDOWN_IT, "_prev_delimiters", "mirrord.markdown.parser.fast_paths"),
        lambda: hasattr(StateInline("", MarkdownIt(), {}, []), "_prev_delimiters"),
    ),
    PrivateName(
        *("mcp", "_lowlevel_server", "mirrord.mcp.server"),
        lambda: hasattr(MCPServer("name"), "_lowlevel_server"),
    ),
    PrivateName(
        *("mcp", "OpenTelemetryMiddleware", "mirrord.mcp.server"),
        is_in("mcp.server._otel", "OpenTelemetryMiddleware"),
    ),
    PrivateName(
        *("mcp", "_connection", "mirrord.mcp.page_notices"),
        lambda: "self._connection = connection" in inspect.getsource(ServerSession),
    ),
    PrivateName(STANDARD_LIBRARY, "_processes", "mirrord.documents.document_derivation", has_processes),
    *(
        PrivateName(MARKDOWN_IT, name, f"mirrord.markdown.{module}", is_in(f"markdown_it.{place}", *name.split(".")))
        for module, place, name in (
            ("parser.fast_paths", "common.utils", "mdTrim"),
            ("parser.nested_blocks", "common.utils", "MD_TRIM_CHARS"),
            ("inline.inline_writer", "common.utils", "isValidEntityCode"),
            ("inline.inline_writer", "common.utils", "isWhiteSpace"),
            ("parser.work_limit", "parser_inline", "ParserInline.tokenize"),
            ("parser.work_limit", "parser_inline", "ParserInline.skipToken"),
            ("parser.work_limit", "parser_block", "ParserBlock.tokenize"),
            ("parser.work_limit", "ruler", "Ruler.getRules"),
            ("parser.fast_paths", "rules_inline", "StateInline.pushPending"),
        )
    ),
    *(
        PrivateName(PLUGINS, name, f"mirrord.markdown.parser.{module}", is_in(f"mdit_py_plugins.{place}.index", name))
        for module, place, name in (
            ("dialect", "footnote", "footnote_def"),
            ("syntax_rules", "dollarmath", "math_block_dollar"),
        )
    ),
]


@pytest.mark.parametrize("private", PRIVATE_NAMES, ids=lambda private: f"{private.dependency}-{private.name}")
def test_a_private_name_is_still_there(private: PrivateName) -> None:
    assert private.exists(), (
        f"{private.dependency} has no {private.name} any more, which {private.module} uses: "
        f"change {private.module}, then raise the cap of {private.dependency} in pyproject.toml."
    )


def test_a_name_that_is_gone_is_noticed() -> None:
    assert not is_in("watchfiles._rust_notify", "Absent")()
    assert not is_in("watchfiles._absent", "RustNotify")()
    assert not is_in("markdown_it.ruler", "Ruler.absent")()


@pytest.mark.parametrize("private", PRIVATE_NAMES, ids=lambda private: f"{private.dependency}-{private.name}")
def test_its_module_still_uses_it(private: PrivateName) -> None:
    assert re.search(rf"\b{private.name.rpartition('.')[2]}\b", sources()[private.module])


def test_every_dependency_with_a_private_name_has_a_cap() -> None:
    requirements = tomllib.loads((Path(ROOT) / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    capped = {re.split(r"[\[<>=]", requirement)[0] for requirement in requirements if "<" in requirement}
    assert {private.dependency for private in PRIVATE_NAMES} - capped == {STANDARD_LIBRARY}


def private_uses(module: str, source: str) -> Iterator[str]:
    """Names of other packages that begin with `_`: what *module* imports, and attributes that mirrord never sets."""
    for node in nodes(source):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("mirrord"):
            for alias in node.names:
                if any(is_private(part) for part in [*(node.module or "").split("."), alias.name]):
                    yield alias.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and is_private(node.attr):
            yield node.attr


def is_private(name: str) -> bool:
    """Whether *name* begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def own_names() -> set[str]:
    """Every name that mirrord defines or sets."""
    names = set()
    for source in sources().values():
        for node in nodes(source):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
    return names


def test_every_private_name_is_listed() -> None:
    listed = {(private.module, private.name) for private in PRIVATE_NAMES}
    names = own_names() | DOCUMENTED
    used = {(module, name) for module, source in sources().items() for name in private_uses(module, source)}
    assert {(module, name) for module, name in used if name not in names} - listed == set()


def test_a_private_name_that_is_not_listed_is_found() -> None:
    source = "from watchfiles._rust_notify import Other\nfrom click import _compat\nclick.core._verify()"
    assert sorted(private_uses("mirrord.app", source)) == ["Other", "_compat", "_verify"]
