"""docs/operations.md knows every problem, halt and verdict there can be: found in the code, not listed here."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from mirrord.operations.tenant_check import Verdict
from mirrord.sync.decisions.tree_history import Rewind
from tests.architecture import sources

GUIDE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")


_LISTING = {
    "Problem": 3,
    "PathProblems": 2,
    "Refusal": 3,
}  # least arguments; the second is a code of a problem


def told() -> set[str]:
    """What the guide names in the first column of a table, or in a sentence."""
    return set(re.findall(r"`([A-Za-z-]+)`", GUIDE))


@functools.cache
def problem_codes() -> frozenset[str]:
    words = ("Problem(", "PathProblems(", "Refusal(", "troubles.append(")
    listing = [source for source in sources().values() if any(word in source for word in words)]
    return frozenset(code for source in listing for code in _problem_codes(ast.parse(source)))


def _problem_codes(module: ast.Module) -> Iterator[str]:
    """The second part of what is listed as a problem, spelled there, or wherever its variable gets its value."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and len(node.args) >= _LISTING.get(_name(node.func), len(node.args) + 1):
            yield from _texts(node.args[1], module)
        elif isinstance(node, ast.Call) and _name(node.func) == "append" and _appended_to(node) == "troubles":
            (argument,) = node.args
            if isinstance(argument, ast.Tuple) and len(argument.elts) == 3:
                yield from _texts(argument.elts[1], module)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _appended_to(call: ast.Call) -> str:
    return _name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _texts(node: ast.expr, module: ast.Module) -> Iterator[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, module)
        yield from _texts(node.orelse, module)
    elif isinstance(node, ast.Name):
        texts = [text for value in _values(node.id, module) for text in _texts(value, module)]
        assert texts, f"where does {node.id} on line {node.lineno} get its value?"
        yield from texts


def _values(name: str, module: ast.Module) -> Iterator[ast.expr]:
    """What a variable is set to anywhere in a module; of one that runs through a table handed over, its keys."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if _name(target) == name:
                    yield node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=True)
                    yield from (value for part, value in pairs if _name(part) == name)
        elif isinstance(node, ast.comprehension) and name in _parts(node.target):
            handed = [argument for call in ast.walk(module) if isinstance(call, ast.Call) for argument in call.args]
            yield from (key for table in handed if isinstance(table, ast.Dict) for key in table.keys if key)


def _parts(target: ast.expr) -> list[str]:
    return [_name(part) for part in target.elts] if isinstance(target, ast.Tuple) else [_name(target)]


def alarm_reasons() -> set[str]:
    """Why deletions, or a whole tenant, stop."""
    guard, stops = (ast.parse(sources()[f"mirrord.sync.{name}"]) for name in ("decisions.guard", "stops"))
    spelled = {text for module in (guard, stops) for call in _calls("Alarm", module) for text in _literal(call)}
    losses = {text for call in _calls("_Loss", guard) for text in _literal(call)} - {"rewind"}
    rewinds = {rewind.value for rewind in (Rewind.TREE, Rewind.DATABASE)}
    all_losses = {
        f"all-{loss}" for loss in losses - {"mass-content-lost"}
    }  # what is held is no loss, however much it is
    return spelled | losses | all_losses | rewinds


def _calls(name: str, module: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(module) if isinstance(node, ast.Call) and _name(node.func) == name)


def _literal(call: ast.Call) -> Iterator[str]:
    if isinstance(call.args[0], ast.Constant):
        yield str(call.args[0].value)


def test_the_codes_of_problems_are_found() -> None:
    assert problem_codes() >= {"damaged", "unreadable", "refused", "in-the-way", "root", "disk", "event", "internal"}


def test_every_problem_has_a_row_with_its_cure() -> None:
    rows = set(re.findall(r"^\| `([a-z-]+)` \|.+\|.+\|$", GUIDE, re.MULTILINE))
    assert problem_codes() - rows == set()
    listed = GUIDE.partition("## Problems")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", listed, re.MULTILINE)) - problem_codes() == set()


def test_every_reason_to_stop_is_explained() -> None:
    assert alarm_reasons() >= {"mass-delete", "all-mass-empty", "root-missing", "disk-full", "tree-rewind", "halted"}
    assert alarm_reasons() - told() == set()


def test_every_verdict_of_a_comparison_is_explained() -> None:
    assert {verdict.value for verdict in Verdict} - told() == {"OK"}
