"""Logs name events by constant words and never hold the text of a page: looked up in the code, tried with an error."""

import ast
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mirrord.telemetry.process_reports import log_to
from tests.architecture import Sources, nodes, sources

LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
# What is said of an event; each of them names, counts or measures.
FACTS = {
    *("adopting", "cause", "characters", "command", "entries", "entry", "error", "left", "leftover", "move", "page"),
    *("path", "place", "reason", "request", "root", "seconds", "start", "state", "tenant", "tool", "writer"),
    *("binding", "bytes", "code", "deleted", "number", "pid", "processes", "tenants", "versions", "written"),
}
# Names of what holds people's words; how long they are may be told.
TEXTS = {
    *("markdown", "text", "texts", "body", "content", "data", "frontmatter", "quote", "title", "summary", "preview"),
    *("arguments", "prefix", "suffix", "lines", "token", "dsn"),
}


def log_calls(module_sources: Sources) -> Iterator[tuple[str, ast.Call]]:
    for module, source in module_sources.items():
        for node in nodes(source):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
                receiver = node.func.value
                if isinstance(receiver, ast.Name) and receiver.id in ("log", "logger", "logging"):
                    yield f"{module}:{node.lineno}", node


def faults(module_sources: Sources) -> list[str]:
    """Every call that logs something else than a constant word and harmless facts."""
    return [f"{where} {fault}" for where, call in log_calls(module_sources) for fault in _faults(call)]


def _faults(call: ast.Call) -> Iterator[str]:
    match call.args:
        case [ast.Constant(value=str(event))] if re.fullmatch("[a-z]+(_[a-z]+)*", event):
            pass
        case _:
            yield "has no constant word as its only argument"
    for keyword in call.keywords:
        if keyword.arg != "extra":
            yield f"hands over {keyword.arg}"
        else:
            yield from _doubtful(keyword.value)


def _doubtful(extra: ast.expr) -> Iterator[str]:
    for node in ast.walk(extra):
        if isinstance(node, ast.Dict):
            yield from (f"says {ast.unparse(key)}" for key in node.keys if key and not _is_fact(key))
    yield from (f"holds {name}" for name in _named(extra) if name in TEXTS)


def _is_fact(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value in FACTS


def _named(node: ast.AST) -> Iterator[str]:
    """Names used in an expression, but for what is only measured."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    for child in ast.iter_child_nodes(node):
        yield from _named(child)


def test_every_event_is_a_constant_word_and_no_page_text_is_logged() -> None:
    assert len(list(log_calls(sources()))) > 30
    assert faults(sources()) == []


@pytest.mark.parametrize(
    "call",
    [
        'log.info(f"moved {path}")',
        "log.info(name)",
        'log.info("moved %s", path)',
        'log.info("Two words")',
        'log.info("moved", extra={"markdown": length})',
        'log.info("moved", extra={"page": page.markdown})',
        'log.info("moved", extra={"page": text[:20]})',
        'log.info("moved", extra={name: 1})',
        'log.info("moved", exc_info=error)',
        'logging.warning("moved", extra={"error": str(error.data)})',
    ],
)
def test_a_call_that_may_tell_too_much_is_found(call: str) -> None:
    assert len(faults({"mirrord.sync.engine": call})) == 1


def test_a_call_that_counts_is_fine() -> None:
    assert (
        faults({"mirrord.app": 'log.info("moved", extra={"characters": len(page.markdown)} | ({} if x else {}))'}) == []
    )


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """Where mirrord logs inside the test."""
    logger = logging.getLogger("mirrord")
    before = logger.handlers[:], logger.level, logger.propagate
    log_to(tmp_path / "mirrord.log")
    yield tmp_path / "mirrord.log"
    for handler in logger.handlers:
        handler.close()
    logger.handlers[:], logger.level, logger.propagate = before


def test_a_traceback_tells_where_and_what_kind_but_quotes_no_page(log_file: Path) -> None:
    log = logging.getLogger("mirrord.tried")
    page = " ".join(["the", "words", "of", "a", "page"])  # a traceback shows lines of code
    with pytest.raises(yaml.YAMLError, match=page):
        yaml.safe_load(f"title: [{page}")
    try:
        try:
            yaml.safe_load(f"title: [{page}")
        except yaml.YAMLError as error:
            raise RuntimeError(f"It failed.\nDETAIL: Failing row contains ({page})") from error
    except RuntimeError:
        log.exception("pass_failed")
    line = json.loads(log_file.read_text(encoding="utf-8"))
    assert (line["event"], line["level"]) == ("pass_failed", "error")
    for words in ("ParserError: while parsing a flow sequence", "RuntimeError: It failed.", "tests/test_logs.py"):
        assert words in line["traceback"]
    assert page not in log_file.read_text(encoding="utf-8")
