"""The rules of CONTRIBUTING.md as functions over sources: directions of imports, purity, sizes, names."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = "mirrord"
ROOT = Path(__file__).parents[1]

# Imports go down only; rooms of one floor do not know each other.
FLOORS = (
    {"cli"},
    {"daemon", "mcp", "web"},
    {"app", "approving"},
    {"config", "telemetry"},
    {"sync", "commands"},
    {"mirror", "db", "convert"},
    {"codec"},
    {"domain"},
    {"errors"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Agents' side meets sync in the file system: not even through others does it reach Postgres or the network.
FILES_ONLY = ("commands", "mcp")
NEVER_REACHED = ("mirrord.db", "mirrord.sync", "psycopg", "psycopg_pool")

# What an agent waits for: the server's start and its first list of pages do without what takes long to load.
FIRST_ANSWER = ("mirrord.mcp.stdio", "mirrord.commands.listing")
SLOW_TO_LOAD = ("markdown_it", "yaml", "frontmatter", "pathspec", "tomllib", "rich", "cryptography", "click")

PURE_ROOMS = ("domain", "codec")
PURE_MODULES = {
    *(
        f"mirrord.sync.{name}"
        for name in (
            "plan",
            "place",
            "decision",
            "evidence",
            "identity",
            "succession",
            "likeness",
            "guard",
            "start",
            "merge",
            "threeway",
            "stale",
            "lulls",
            "livelock",
            "company",
        )
    ),
    "mirrord.mirror.gathering",
    "mirrord.mirror.layout",
    "mirrord.cli.diagnosis",
    "mirrord.cli.units",
    "mirrord.web.changes",
    "mirrord.web.media",
    "mirrord.errors",
}
# All that a pure module may import from outside: values and text. A list of what is allowed, because a list of
# what is not would forget something.
PURE_LIBRARIES = {
    *("base64", "bisect", "collections", "csv", "dataclasses", "datetime", "difflib", "enum", "functools"),
    *("hashlib", "heapq", "html", "itertools", "json", "math", "operator", "re", "string", "textwrap", "types"),
    "typing",
    *("unicodedata", "urllib.parse", "uuid"),
    *("frontmatter", "markdown_it", "mdit_py_plugins", "merge3", "orjson", "yaml"),
}
PURE_EXCEPTIONS = {
    ("mirrord.domain.entry", "os"): "new_id draws chance",
    ("mirrord.domain.entry", "time"): "new_id looks at the clock; no rule depends on what it returns",
    ("mirrord.sync.start", "mirrord.mirror.marker"): "for the value Marker; reading one happens elsewhere",
    ("mirrord.codec.rewriting", "sys"): "for maxsize, a number",
}
EFFECTS_WITHOUT_IMPORT = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}

BROAD_EXCEPT = {
    "mirrord.sync.passes": 1,  # one item must not stop the others
    "mirrord.commands.failure": 1,  # one command must not end a connection, nor the daemon
}
MAX_FUNCTION_LINES = 50
MAX_MODULE_LINES = 400
NAMES_WITHOUT_MEANING = ("manager", "util", "helper", "service", "common", "misc")

Sources = Mapping[str, str]  # dotted name of a module -> its text


parsed = cache(ast.parse)  # every rule looks at all sources


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All that a source consists of."""
    return tuple(ast.walk(parsed(source)))


@cache
def sources() -> dict[str, str]:
    """Every module of mirrord."""
    found = {}
    for file in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file.read_text(encoding="utf-8")
    return found


def imports(module: str, sources: Sources) -> Iterator[str]:
    """What *module* imports, anywhere in it; of a package's attribute that is a module, that module."""
    return _imported(nodes(sources[module]), module, sources)


def loaded(module: str, sources: Sources) -> Iterator[str]:
    """What importing *module* imports at once: not what functions do, nor what is there for types."""
    return _imported(_run_at_once(parsed(sources[module]).body), module, sources)


def _run_at_once(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        is_later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if not is_later and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _run_at_once(ast.iter_child_nodes(node))


def _imported(nodes: Iterable[ast.AST], module: str, sources: Sources) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively; say the whole name"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in sources else str(node.module)


def room(module: str) -> str:
    """`sync` for `mirrord.sync.plan`; "" for what is not mirrord's and for the package itself."""
    package, _, rest = module.partition(".")
    return rest.split(".")[0] if package == PACKAGE else ""


def upward_imports(sources: Sources) -> list[str]:
    """Imports that do not go down."""
    return [
        f"{module} imports {imported}"
        for module in sources
        for imported in imports(module, sources)
        if room(module) and room(imported) and not _may_know(room(module), room(imported))
    ]


def _may_know(one: str, other: str) -> bool:
    return one == other or FLOOR_OF[one] < FLOOR_OF[other]


def unknown_rooms(sources: Sources) -> list[str]:
    """Rooms that have no floor yet."""
    return sorted({room(module) for module in sources} - set(FLOOR_OF) - {""})


def reached(module: str, imported: Mapping[str, set[str]]) -> set[str]:
    """Every module that importing *module* loads, directly or not; *imported*: what each of mirrord's own imports."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += imported.get(current, ())
    return found


def reaches_of_the_agents_side(sources: Sources) -> list[str]:
    """Ways from the rooms that work on files only to what they must not know."""
    imported = {module: set(imports(module, sources)) for module in sources}
    return [
        f"{module} reaches {other}"
        for module in sources
        if room(module) in FILES_ONLY
        for other in sorted(reached(module, imported))
        if _is_within(other, NEVER_REACHED)
    ]


def slow_first_answers(sources: Sources) -> list[str]:
    """Ways from what the first answer needs to what takes long to load."""
    at_once = {module: set(loaded(module, sources)) for module in sources}
    return [
        f"{module} loads {other}"
        for module in FIRST_ANSWER
        for other in sorted(reached(module, at_once))
        if _is_within(other, SLOW_TO_LOAD)
    ]


def _is_within(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def impurities(sources: Sources) -> list[str]:
    """What pure modules import or call that may touch the world. Pure modules may import each other."""
    return [
        f"{module} uses {effect}"
        for module in filter(_is_pure, sources)
        for effect in [*imports(module, sources), *_effects_called(sources[module])]
        if not (_is_pure(effect) or _is_within(effect, PURE_LIBRARIES) or (module, effect) in PURE_EXCEPTIONS)
    ]


def _is_pure(module: str) -> bool:
    return room(module) in PURE_ROOMS or module in PURE_MODULES


def _effects_called(source: str) -> Iterator[str]:
    for node in nodes(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EFFECTS_WITHOUT_IMPORT:
            yield f"{node.func.id}()"


def broad_excepts(sources: Sources) -> list[str]:
    """Handlers that catch everything, beyond those that are allowed; to clean up there is `ExitStack`."""
    found = []
    for module, source in sources.items():
        handlers = [node for node in nodes(source) if isinstance(node, ast.ExceptHandler)]
        lines = [handler.lineno for handler in handlers if _catches_everything(handler)]
        found += [f"{module}:{line}" for line in sorted(lines)[BROAD_EXCEPT.get(module, 0) :]]
    return found


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    names = ast.walk(handler.type) if handler.type else [ast.Name("Exception")]
    return bool({name.id for name in names if isinstance(name, ast.Name)} & {"Exception", "BaseException"})


def oversized(sources: Sources) -> list[str]:
    """Functions and modules that have outgrown one idea."""
    return [
        f"{name} has {lines} lines"
        for module, source in sources.items()
        for name, lines, limit in [(module, source.count("\n"), MAX_MODULE_LINES), *_functions(module, source)]
        if lines > limit
    ]


def _functions(module: str, source: str) -> Iterator[tuple[str, int, int]]:
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield f"{module}.{node.name}", lines, MAX_FUNCTION_LINES


def meaningless_names(sources: Sources) -> list[str]:
    """Modules named for no idea of their own."""
    return [
        module
        for module in sources
        for word in module.rpartition(".")[2].split("_")
        if word.removesuffix("s") in NAMES_WITHOUT_MEANING
    ]


def undocumented(sources: Sources) -> list[str]:
    """Modules that do not say what they are."""
    return [module for module, source in sources.items() if not ast.get_docstring(parsed(source))]
