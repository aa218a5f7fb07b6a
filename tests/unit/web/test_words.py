"""The words of the console are those of people: no commands where buttons stand, no names from the code."""

import json
import re
from pathlib import Path

import pytest

import mirrord.web
from mirrord.sync.decisions.guard import check_all, check_emptied, weigh_deletions, weigh_held_contents

WEB = Path(mirrord.web.__file__).parent
SCRIPTS = ("static/words.js", "client/src/words.ts")
COMMENT = re.compile(r"(?s:/\*.*?\*/)|(?<!\S)//\s.*$", re.MULTILINE)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"|`([^`]*)`|\'((?:[^\'\\\n]|\\.)*)\'')
INSERTED = re.compile(r"\$\{[^}]*\}")
INTERNAL = re.compile(
    r"\b[a-z]+_[a-z_]+\b|\b(?!LaTeX|GitHub|TipTap)[A-Z][a-z]+[A-Z]\w*|\bmirrord (?!runs |here|to )[a-z]|--[a-z]"
)


def words_of(name: str) -> list[str]:
    """All texts of a module of words, without what is inserted."""
    text = COMMENT.sub("", (WEB / name).read_text(encoding="utf-8"))
    return [INSERTED.sub("", "".join(parts)) for parts in LITERAL.findall(text)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_words_of_scripts_name_nothing_internal(name: str) -> None:
    words = words_of(name)
    assert len(words) > 30
    assert [word for word in words if INTERNAL.search(word)] == []


def test_words_of_templates_name_nothing_internal() -> None:
    words = json.loads((WEB / "templates" / "words.json").read_text(encoding="utf-8"))
    assert len(words) > 30
    assert [word for word in words.values() if INTERNAL.search(str(word))] == []


@pytest.mark.parametrize("word", ["PageWritten", "create_folder", "see `mirrord conflicts show 3`", "try --port"])
def test_a_word_from_the_code_is_found(word: str) -> None:
    assert INTERNAL.search(word)


def test_every_reason_for_a_halt_has_a_title() -> None:
    alarms = [check_emptied(0, 2), weigh_held_contents(100, 100, is_halted=False)]
    for side in ("file", "row", "emptied", "vanished"):
        alarms += [weigh_deletions(side, 100, 0, 100), check_all(side, 2, 2)]
    reasons = {alarm.reason for alarm in alarms if alarm is not None}
    titles = (WEB / "static" / "words.js").read_text(encoding="utf-8").partition("HALT_TITLES = {")[2].partition("}")[0]

    assert reasons == set(re.findall(r'"([a-z-]+)": \w+', titles))
