"""
Test modules of a new checkout are compiled once, and not by each worker.

All workers collect the same modules in the same order, and to rewrite the asserts of all takes ten seconds of processor
time. So each begins with a share of its own, and finds the others' compiled.
"""

import os
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest


def import_share(config: pytest.Config) -> None:
    """Import every n-th of the modules that are collected next, of n workers. What is wrong with one shows then."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        number, workers = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for module in sorted(_modules(config))[number % workers :: workers]:
            pytest.CallInfo.from_call(partial(import_module, module), "collect")


def _modules(config: pytest.Config) -> Iterator[str]:
    ignored = [Path(path).absolute() for path in config.getoption("ignore") or ()]
    for argument in config.args:
        for file in Path(argument).absolute().rglob("test_*.py"):
            if not any(file.is_relative_to(path) for path in ignored):
                yield ".".join(file.relative_to(config.rootpath).with_suffix("").parts)
