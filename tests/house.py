"""`make house`: figures of readability. Sizes, names, parameters, citations; `--list` names the worst places."""

import argparse
import ast
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTED = 15  # of the worst places of each figure

# Words that name no thing: a variable with such a name makes its reader look for what it holds.
EMPTY_NAMES = frozenset(
    """
    one ones other others found said told seen known asked kept left gone here there rest made taken meant given
    whole own more most least those these this that what which who whose thing things stuff tmp temp foo shown
    held late near lately came come went away begun done wanted
    """.split()
) - {"other", "others"}
CITED_CONTRACT = re.compile(r"\b(?:DESIGN|SYNC|CODEC|TOOLS|STYLE)(?:\s*(?:§|[0-9])|\.md\b)")
ODD_WORDS = re.compile(r"\b(seldomer|anew|amid|in vain|nobody|somebody|whoever|whatever)\b", re.IGNORECASE)


@dataclass(slots=True)
class House:
    """What was counted; the lists name places, the worst first once they are sorted."""

    modules: list[tuple[int, str]] = field(default_factory=list)
    folders: Counter[str] = field(default_factory=Counter)
    functions: list[tuple[int, str]] = field(default_factory=list)
    parameters: list[tuple[int, str]] = field(default_factory=list)
    one_word_functions: list[str] = field(default_factory=list)
    named: int = 0
    empty_names: list[str] = field(default_factory=list)
    citations: list[str] = field(default_factory=list)
    odd_words: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """The figures by what they say."""
        sizes, lengths = [size for size, _ in self.modules], [length for length, _ in self.functions]
        return {
            "modules": len(sizes),
            "lines": sum(sizes),
            "median module": statistics.median(sizes),
            "longest module": max(sizes),
            "most modules in one folder": max(self.folders.values()),
            "functions": len(lengths),
            "median function": statistics.median(lengths),
            "longest function": max(lengths),
            "most parameters": max(count for count, _ in self.parameters),
            "functions of more than six parameters": sum(count > 6 for count, _ in self.parameters),
            "names that name nothing, %": round(100 * len(self.empty_names) / self.named, 2),
            "functions of one word, %": round(100 * len(self.one_word_functions) / len(lengths), 1),
            "citations of absent documents": len(self.citations),
            "odd words": len(self.odd_words),
        }

    def worst(self) -> Mapping[str, list[str]]:
        """The worst places of each figure."""
        return {
            "modules": [f"{size:>5}  {place}" for size, place in sorted(self.modules, reverse=True)[:LISTED]],
            "folders": [f"{count:>5}  {folder}" for folder, count in self.folders.most_common(LISTED)],
            "functions": [f"{length:>5}  {place}" for length, place in sorted(self.functions, reverse=True)[:LISTED]],
            "parameters": [f"{count:>5}  {place}" for count, place in sorted(self.parameters, reverse=True)[:LISTED]],
            "names that name nothing": self.empty_names[:LISTED],
            "citations": self.citations[:LISTED],
            "odd words": self.odd_words[:LISTED],
        }


def count_words(root: Path) -> House:
    """Look at every module below *root*."""
    house = House()
    for path in sorted(root.rglob("*.py")):
        if "node_modules" not in path.parts:
            _add_module(house, path, path.read_text(encoding="utf-8"))
    return house


def _add_module(house: House, path: Path, text: str) -> None:
    lines = text.splitlines()
    place = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    house.modules.append((len(lines), place))
    house.folders[str(Path(place).parent)] += path.name != "__init__.py"
    house.citations += [f"{place}:{number}" for number, line in enumerate(lines, 1) if CITED_CONTRACT.search(line)]
    house.odd_words += [f"{place}:{number}" for number, line in enumerate(lines, 1) if ODD_WORDS.search(line)]
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _add_function(house, node, f"{place}:{node.lineno} {node.name}")
    for name, line in bound_names(tree):
        house.named += 1
        if is_empty_name(name):
            house.empty_names.append(f"{place}:{line} {name}")


def _add_function(house: House, node: ast.FunctionDef | ast.AsyncFunctionDef, place: str) -> None:
    house.functions.append(((node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_lines(node), place))
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    house.parameters.append((sum(argument.arg not in ("self", "cls") for argument in arguments), place))
    if not node.name.startswith("__") and "_" not in node.name.strip("_"):
        house.one_word_functions.append(place)


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that is assigned or is a parameter, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg, node.lineno


def is_empty_name(name: str) -> bool:
    """Whether a name of a value says nothing about it."""
    return name.lstrip("_") in EMPTY_NAMES


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=ROOT / "mirrord", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="name the worst places")
    options = parser.parse_args()
    house = count_words(options.root.resolve())
    if options.json:
        print(json.dumps(house.figures(), indent=1))
        return
    for figure, value in house.figures().items():
        print(f"{figure:40} {value:>9}")
    for figure, places in house.worst().items() if options.list else ():
        print(f"\n{figure}", *places, sep="\n  ")


if __name__ == "__main__":
    main()
