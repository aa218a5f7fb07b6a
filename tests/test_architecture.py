"""The rules of CONTRIBUTING hold for every module of mirrord, and find what breaks them."""

import pytest

from tests.architecture import (
    EMPTY_NAMES_ALLOWED,
    PURE_EXCEPTIONS,
    broad_excepts,
    crowded_packages,
    empty_names,
    imports,
    impurities,
    meaningless_names,
    overloaded,
    oversized,
    parsed,
    reaches_of_the_agents_side,
    slow_first_answers,
    sources,
    undocumented,
    unknown_rooms,
    upward_imports,
)
from tests.house import ROOT, bound_names, count_words


def test_imports_go_down_only() -> None:
    assert upward_imports(sources()) == []


def test_every_room_has_its_floor() -> None:
    assert unknown_rooms(sources()) == []


def test_commands_and_the_agents_face_never_reach_postgres() -> None:
    assert reaches_of_the_agents_side(sources()) == []


def test_agents_need_not_wait_for_parsers() -> None:
    assert slow_first_answers(sources()) == []


def test_pure_modules_touch_nothing() -> None:
    assert impurities(sources()) == []


def test_every_exception_to_purity_is_still_needed() -> None:
    module_sources = sources()
    unused = [pair for pair in PURE_EXCEPTIONS if pair[1] not in imports(pair[0], module_sources)]
    assert unused == []


def test_nobody_catches_everything_but_the_engine() -> None:
    assert broad_excepts(sources()) == []


def test_functions_and_modules_stay_small() -> None:
    assert oversized(sources()) == []


def test_functions_take_few_parameters() -> None:
    assert overloaded(sources()) == []


def test_packages_can_be_looked_over() -> None:
    assert crowded_packages(sources()) == []


def test_modules_are_named_for_what_they_are() -> None:
    assert meaningless_names(sources()) == []


def test_values_are_named_for_what_they_hold() -> None:
    assert empty_names(sources()) == []


def test_values_of_tests_are_named_for_what_they_hold() -> None:
    assert empty_names(sources("tests")) == []


def test_every_allowed_empty_name_is_still_there() -> None:
    module_sources = sources()
    bound = {(module, name) for module in module_sources for name, _ in bound_names(parsed(module_sources[module]))}
    assert EMPTY_NAMES_ALLOWED.keys() - bound == set()


def test_every_module_says_what_it_is() -> None:
    assert undocumented(sources()) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mirrord.domain.entry", "from mirrord.db.connect import Database"),
        ("mirrord.db.pages", "import mirrord.sync.engine"),
        ("mirrord.mirror.tree.tenant_tree", "from mirrord.db import connect"),
        ("mirrord.db.content.page_rows", "from mirrord.mirror.tree import tree_layout"),
        ("mirrord.sync.engine", "def work():\n    from mirrord.commands.pages import page_commands"),
        ("mirrord.errors", "from mirrord.domain.entry import Place"),
        ("mirrord.telemetry", "from mirrord.app import Config"),
        ("mirrord.web.console", "from mirrord import daemon"),
    ],
)
def test_an_import_that_goes_up_or_sideways_is_found(module: str, source: str) -> None:
    module_sources = {module: source, "mirrord.daemon": "", "mirrord.db.connect": ""}
    assert len(upward_imports(module_sources)) == 1


def test_an_import_that_goes_down_or_stays_in_its_room_is_none_of_our_business() -> None:
    source = "import os\nfrom mirrord import __version__, app\nfrom mirrord.cli.options import run"
    assert upward_imports({"mirrord.cli.command_table": source, "mirrord.app": "", "mirrord": ""}) == []


def test_a_room_without_a_floor_is_found() -> None:
    assert unknown_rooms({"mirrord.utils.text": "", "mirrord": ""}) == ["utils"]


def test_a_relative_import_is_refused() -> None:
    with pytest.raises(AssertionError, match="relatively"):
        upward_imports({"mirrord.sync.plan": "from . import place"})


def test_postgres_is_found_behind_several_imports() -> None:
    module_sources = {
        "mirrord.mcp.server": "from mirrord.config import Config",
        "mirrord.config": "from mirrord.mirror.write import lock",
        "mirrord.mirror.write.lock": "def late():\n    import psycopg.rows",
    }
    assert reaches_of_the_agents_side(module_sources) == ["mirrord.mcp.server reaches psycopg.rows"]


def test_a_parser_behind_several_imports_is_found_unless_a_function_or_only_types_ask_for_it() -> None:
    later = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import yaml\ndef late():\n    import pathspec"
    module_sources = {
        "mirrord.mcp.server": "from mirrord.mcp import callers",
        "mirrord.mcp.callers": "class Caller:\n    import markdown_it.token",
        "mirrord.commands.pages.page_listing": later,
    }
    assert slow_first_answers(module_sources) == ["mirrord.mcp.server loads markdown_it.token"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mirrord.domain.trust", "import os.path"),
        ("mirrord.domain.entry", "import random"),
        ("mirrord.markdown.read.reader", "from pathlib import Path"),
        ("mirrord.markdown.read.reader", "def late():\n    import psycopg"),
        ("mirrord.sync.decisions.guard", "import asyncio"),
        ("mirrord.sync.decisions.guard", "from mirrord.mirror.tree_marker import TreeMarker"),
        ("mirrord.sync.observation.file_identity", "from mirrord.mirror.tree.tenant_tree import Tree"),
        ("mirrord.merge.edit_merge", "def read():\n    return open('x').read()"),
    ],
)
def test_an_effect_in_a_pure_module_is_found(module: str, source: str) -> None:
    assert len(impurities({module: source})) == 1


def test_values_texts_and_other_pure_modules_are_no_effects() -> None:
    module_sources = {
        "mirrord.sync.observation.file_identity": "import re\nfrom mirrord.mirror.tree.tree_layout import Spot",
        "mirrord.sync.decisions.tree_history": "from mirrord.mirror.tree_marker import Marker",
        "mirrord.sync.engine": "import os",
    }
    assert impurities(module_sources) == []


@pytest.mark.parametrize("caught", ["", " Exception", " BaseException as error", " (OSError, Exception)"])
def test_a_handler_that_swallows_everything_is_found(caught: str) -> None:
    source = f"try:\n    pass\nexcept{caught}:\n    pass\n"
    assert broad_excepts({"mirrord.app": source}) == ["mirrord.app:3"]
    assert broad_excepts({"mirrord.sync.engine_parts": source}) == []
    assert broad_excepts({"mirrord.sync.engine_parts": source * 2}) == ["mirrord.sync.engine_parts:7"]


def test_a_case_that_matches_every_error_is_found() -> None:
    source = "match error:\n    case OSError():\n        pass\n    case Exception():\n        pass\n"
    assert broad_excepts({"mirrord.app": source}) == ["mirrord.app:4"]


def test_a_handler_that_names_its_error_is_fine() -> None:
    source = "try:\n    pass\nexcept OSError:\n    pass\nexcept (KeyError, ValueError):\n    raise\n"
    assert broad_excepts({"mirrord.app": source}) == []


def test_a_handler_that_raises_everything_again_catches_it_all_the_same() -> None:
    source = "try:\n    pass\nexcept BaseException:\n    print()\n    raise\n"
    assert broad_excepts({"mirrord.app": source}) == ["mirrord.app:3"]


def test_a_function_of_51_lines_and_a_module_of_401_are_found() -> None:
    function = "async def long():\n" + "    pass\n" * 50
    assert oversized({"mirrord.app": function}) == ["mirrord.app.long has 51 lines"]
    assert oversized({"mirrord.app": "\n" * 401}) == ["mirrord.app has 401 lines"]
    assert oversized({"mirrord.app": "def long():\n" + "    pass\n" * 49 + "\n" * 350}) == []


def test_a_function_of_seven_parameters_is_found() -> None:
    assert overloaded({"mirrord.app": "def f(a, /, b, c, d, *, e, g, h): pass"}) == ["mirrord.app.f has 7 parameters"]
    assert overloaded({"mirrord.app": "class A:\n    def f(self, b, c, d, *, e, g, h): pass"}) == []


@pytest.mark.parametrize("name", ["mirrord.utils", "mirrord.db.connection_manager", "mirrord.sync.helpers"])
def test_a_name_without_meaning_is_found(name: str) -> None:
    assert meaningless_names({name: "", "mirrord.sync.plan": ""}) == [name]


@pytest.mark.parametrize(
    "source",
    [
        "for one in values:\n    pass",
        "def count(found: int) -> None:\n    pass",
        "class Row:\n    _held: bool = False",
        "sizes = [len(thing) for thing in values]",
        "with file as stuff:\n    pass",
    ],
)
def test_a_value_named_for_nothing_is_found(source: str) -> None:
    assert len(empty_names({"mirrord.app": source})) == 1


def test_an_empty_name_is_allowed_in_its_module_only() -> None:
    source = "def compare(left: int, right: int) -> None:\n    pass"
    assert empty_names({"mirrord.convert.pdf": source}) == []
    assert empty_names({"mirrord.app": source}) == ["mirrord.app:1 left"]


def test_a_module_without_a_docstring_is_found() -> None:
    assert undocumented({"mirrord.app": "x = 1", "mirrord.cli": '"""FACE."""'}) == ["mirrord.app"]


def test_a_package_of_26_modules_is_found() -> None:
    module_sources = {"mirrord.db": "", **{f"mirrord.db.table_{number}": "" for number in range(26)}}
    assert crowded_packages(module_sources) == ["mirrord.db has 26 modules"]
    assert crowded_packages(dict.fromkeys(list(module_sources)[:26], "")) == []


def test_sentences_have_a_noun_for_whom_they_are_about() -> None:
    assert count_words(ROOT / "mirrord").odd_words == []  # somebody, whoever and the like: name the person or the part
