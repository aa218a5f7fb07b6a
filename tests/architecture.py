"""The rules of CONTRIBUTING as functions over sources: directions of imports, purity, sizes, names."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.house import bound_names, is_empty_name

PACKAGE = "mirrord"
ROOT = Path(__file__).parents[1]

# Imports go down only; rooms of one floor do not know each other.
# A module is in the room with the longest name that fits.
FLOORS = (
    {"research.*.*_cli"},  # command lines of the slice, which the command table loads
    {"cli"},
    {"daemon", "mcp", "web"},
    {"app", "binding", "intake", "operations", "research.*.*_tools"},
    {"config", "telemetry", "documents", "mcp.tools"},
    {"commands", "config_file", "config_settings"},
    {"research.surveys", "research.speakers", "research.collections"},
    {"research.sources"},
    {"research.segments"},
    {"commands.pages"},
    {"research.sources.source_listing"},  # pages ask it which folders are of sources
    {"commands.core"},
    {"sync"},
    {"sync.writing"},
    {"sync.observation"},
    {"sync.decisions"},
    {"auth"},
    {"mirror.read", "mirror.export", "mirror.backup", "db.content", "db.bindings", "convert"},
    {"mirror"},
    {"db"},
    {"db.server"},
    {"mirror.write"},
    {"mirror.tree"},
    {"merge"},
    {"research rules"},
    {"markdown"},
    {"domain"},
    {"errors"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# The order of floors alone would let one of each pair import the other.
APART = (
    ("mirror", "db"),
    ("mirror", "convert"),
    ("db", "convert"),
    ("commands", "sync"),
    ("commands", "documents"),
    ("commands", "operations"),
    ("auth", "db"),
    ("auth", "sync"),
)

# Pure rules of the slice: what sources, surveys, speakers, segments and collections are.
RESEARCH_RULES = {
    "mirrord.research.sources.source_kinds",
    *(f"mirrord.research.surveys.{name}" for name in ("survey_columns", "delimited_text")),
    *(f"mirrord.research.speakers.{name}" for name in ("speaker_labels", "speaker_turns")),
    *(f"mirrord.research.segments.{name}" for name in ("segment", "text_alignment", "segment_anchoring")),
    *(f"mirrord.research.collections.{name}" for name in ("collection_rules", "collection_yaml", "group_visibility")),
}

# Agents' side meets sync in the file system: not even through others does it reach Postgres or the network.
FILES_ONLY = ("commands", "mcp", "auth", "research")
NEVER_REACHED = (
    *("mirrord.db", "mirrord.sync", "mirrord.documents", "mirrord.operations", "mirrord.intake"),
    *("psycopg", "psycopg_pool"),
)

# What an agent waits for: the server's start and its first list of pages do without what takes long to load.
FIRST_ANSWER = ("mirrord.mcp.server", "mirrord.commands.pages.page_listing")
SLOW_TO_LOAD = ("markdown_it", "yaml", "frontmatter", "pathspec", "tomllib", "tomlkit", "rich", "cryptography", "click")

PURE_ROOMS = ("domain", "markdown", "merge", "research rules", "sync.decisions")
PURE_MODULES = {
    *(f"mirrord.sync.observation.{name}" for name in ("identity_evidence", "file_identity", "renames")),
    "mirrord.operations.three_way_diff",
    "mirrord.operations.undo_plan",
    "mirrord.db.bindings.page_state",
    "mirrord.db.cluster_plan",
    "mirrord.mirror.change_batches",
    "mirrord.mirror.tree.tree_layout",
    "mirrord.cli.host.diagnosis",
    *(
        f"mirrord.binding.mappings.{name}"
        for name in (
            "file_table_keys",
            "link_rules",
            "mapping",
            "mapping_file",
            "mapping_names",
            "mapping_sections",
            "path_names",
            "path_template",
            "write_rules",
            "write_rules_file",
        )
    ),
    "mirrord.binding.files.app_file",
    "mirrord.binding.links.link_texts",
    "mirrord.binding.links.link_nodes",
    "mirrord.binding.paths.row_paths",
    *(f"mirrord.binding.{name}" for name in ("app_rows", "row_order", "page_edits", "two_way_plan", "new_row")),
    *(
        f"mirrord.binding.bodies.{name}"
        for name in ("foreign_text", "html_tree", "html_inline", "html_reading", "html_writing", "html_body")
    ),
    "mirrord.binding.row_decision",
    "mirrord.cli.host.units",
    "mirrord.web.text_comparison",
    "mirrord.web.media_types",
    "mirrord.errors",
}
# All that a pure module may import from outside: values and text. A list of what is allowed, because a list of
# what is not would forget something.
PURE_LIBRARIES = {
    *("base64", "bisect", "collections", "csv", "dataclasses", "datetime", "difflib", "enum", "functools"),
    *("hashlib", "heapq", "html", "itertools", "json", "math", "operator", "re", "string", "textwrap", "types"),
    "typing",
    *("unicodedata", "urllib.parse", "uuid"),
    *("contextlib", "frontmatter", "markdown_it", "mdit_py_plugins", "merge3", "orjson", "tomlkit", "tomllib", "yaml"),
}
PURE_EXCEPTIONS = {
    ("mirrord.domain.entry", "os"): "new_id draws chance",
    ("mirrord.domain.entry", "time"): "new_id looks at the clock; no rule depends on what it returns",
    (
        "mirrord.sync.decisions.tree_history",
        "mirrord.mirror.tree_marker",
    ): "for the value TreeMarker; it is read elsewhere",
    ("mirrord.markdown.frontmatter.yaml_edits", "sys"): "for maxsize, a number",
    ("mirrord.markdown.read.known_readings", "threading"): "it remembers what a function returned, for all threads",
}
EFFECTS_WITHOUT_IMPORT = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}

BROAD_EXCEPT = {
    "mirrord.sync.engine_parts": 1,  # one item must not stop the others
    "mirrord.commands.core.failure": 1,  # one command must not end a connection, nor the daemon
}
MAX_FUNCTION_LINES = 50
MAX_MODULE_LINES = 400
MAX_PARAMETERS = 6
MAX_PACKAGE_MODULES = 25
NAMES_WITHOUT_MEANING = ("manager", "util", "helper", "service", "common", "misc")

# Names of tests.house.EMPTY_NAMES that are words of their field, or of a format that programs outside read.
_PART_OF_TOTAL = "the finished part of a total"
_SIDE = "opposite of right"
EMPTY_NAMES_ALLOWED = {
    ("mirrord.cli.host.status_board", "done"): _PART_OF_TOTAL,
    ("mirrord.cli.output", "done"): _PART_OF_TOTAL,
    ("mirrord.documents.derivation_schedule", "done"): _PART_OF_TOTAL,
    ("mirrord.domain.long_work", "done"): _PART_OF_TOTAL,
    ("mirrord.domain.measures", "done"): "a key of the heartbeat file, beside total",
    ("mirrord.domain.measures", "what"): "a key of the heartbeat file",
    ("mirrord.intake.approver", "done"): _PART_OF_TOTAL,
    ("mirrord.mcp.calls", "done"): _PART_OF_TOTAL,
    ("mirrord.operations.tenant_export", "done"): _PART_OF_TOTAL,
    ("mirrord.sync.engine_parts", "done"): _PART_OF_TOTAL,
    ("mirrord.convert.pdf", "left"): _SIDE,
    ("mirrord.convert.pdf_layout", "left"): _SIDE,
    ("mirrord.markdown.write.block_parts", "left"): _SIDE,
    ("mirrord.commands.pages.move_commands", "left"): "a key of the answers of approved requests",
    ("mirrord.mirror.export.export_directory", "left"): "a key of `mirrord export --json`",
    ("mirrord.mirror.export.export_files", "begun"): "a key of the manifest in exported directories",
    ("mirrord.web.rows.live_rows", "what"): "a key of the console's answers",
}

Sources = Mapping[str, str]  # dotted name of a module -> its text


parsed = cache(ast.parse)  # every rule looks at all sources


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All that a source consists of."""
    return tuple(ast.walk(parsed(source)))


@cache
def sources(package: str = PACKAGE) -> dict[str, str]:
    """Every module of *package*, `mirrord` or `tests`."""
    module_sources = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if "node_modules" not in parts:
            module_sources[".".join(part for part in parts if part != "__init__")] = file.read_text(encoding="utf-8")
    return module_sources


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


@cache
def room(module: str) -> str:
    """`sync.decisions` for `mirrord.sync.decisions.move`; "" for what is not mirrord's and for the package itself."""
    if module in RESEARCH_RULES:
        return "research rules"
    if not module.startswith(f"{PACKAGE}."):
        return ""
    name = module.removeprefix(f"{PACKAGE}.")
    fitting = [room for room in FLOOR_OF if fnmatchcase(name, room) or f"{name}.".startswith(f"{room}.")]
    return max(fitting, key=lambda room: ("*" in room, len(room)), default="")


def package_of(module: str) -> str:
    """`sync` for `mirrord.sync.decisions.move`; "" for what is not mirrord's and for the package itself."""
    package, _, name = module.partition(".")
    return name.partition(".")[0] if package == PACKAGE else ""


def upward_imports(sources: Sources) -> list[str]:
    """Imports that do not go down."""
    return [
        f"{module} imports {imported}"
        for module in sources
        for imported in imports(module, sources)
        if room(module) and room(imported) and not _may_know(module, imported)
    ]


def _may_know(module: str, imported: str) -> bool:
    packages = (package_of(module), package_of(imported))
    if packages in APART or packages[::-1] in APART:
        return False
    return room(module) == room(imported) or FLOOR_OF[room(module)] < FLOOR_OF[room(imported)]


def unknown_rooms(sources: Sources) -> list[str]:
    """Packages that have no floor yet."""
    homeless = {package_of(module) for module in sources if not room(module)}
    return sorted(homeless - {"", "research"})  # research itself holds its parts only


def reached(module: str, imported: Mapping[str, set[str]]) -> set[str]:
    """Every module that importing *module* loads, directly or not; *imported*: what each of mirrord's own imports."""
    visited: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current not in visited:
            visited.add(current)
            waiting += imported.get(current, ())
    return visited


def reaches_of_the_agents_side(sources: Sources) -> list[str]:
    """Ways from the rooms that work on files only to what they must not know."""
    imported = {module: set(imports(module, sources)) for module in sources}
    return [
        f"{module} reaches {other}"
        for module in sources
        if package_of(module) in FILES_ONLY and not room(module).endswith("_cli")
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
    places = []
    for module, source in sources.items():
        handlers = [node for node in nodes(source) if isinstance(node, ast.ExceptHandler | ast.MatchClass)]
        lines = [handler.lineno for handler in handlers if _catches_everything(handler)]
        places += [f"{module}:{line}" for line in sorted(lines)[BROAD_EXCEPT.get(module, 0) :]]
    return places


def _catches_everything(handler: ast.ExceptHandler | ast.MatchClass) -> bool:
    classes = handler.cls if isinstance(handler, ast.MatchClass) else handler.type
    names = ast.walk(classes) if classes else [ast.Name("Exception")]
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


def overloaded(sources: Sources) -> list[str]:
    """Functions of more parameters than a caller can tell apart, with or without an exemption from the linter."""
    return [
        f"{module}.{node.name} has {count} parameters"
        for module, source in sources.items()
        for node in nodes(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (count := _count_parameters(node)) > MAX_PARAMETERS
    ]


def _count_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(parameter.arg not in ("self", "cls") for parameter in parameters)


def crowded_packages(sources: Sources) -> list[str]:
    """Packages of more modules than a reader can look over."""
    counts = Counter(module.rpartition(".")[0] for module in sources)
    packages = {module for module in sources if any(other.startswith(f"{module}.") for other in sources)}
    modules = {
        name: count - sum(package.rpartition(".")[0] == name for package in packages) for name, count in counts.items()
    }
    return [f"{name} has {count} modules" for name, count in modules.items() if count > MAX_PACKAGE_MODULES]


def meaningless_names(sources: Sources) -> list[str]:
    """Modules named for no idea of their own."""
    return [
        module
        for module in sources
        for word in module.rpartition(".")[2].split("_")
        if word.removesuffix("s") in NAMES_WITHOUT_MEANING
    ]


def empty_names(sources: Sources) -> list[str]:
    """Values named for nothing they hold, beyond those that are allowed."""
    return [
        f"{module}:{line} {name}"
        for module, source in sources.items()
        for name, line in bound_names(parsed(source))
        if is_empty_name(name) and (module, name.lstrip("_")) not in EMPTY_NAMES_ALLOWED
    ]


def undocumented(sources: Sources) -> list[str]:
    """Modules that do not say what they are."""
    return [module for module, source in sources.items() if not ast.get_docstring(parsed(source))]
