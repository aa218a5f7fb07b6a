"""Arguments are refused in words a model can act on."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from mirrord.commands.core.failure import Failed
from mirrord.mcp.tools.arguments import Arguments, nearest_name, parse_arguments, schema_of
from mirrord.mcp.tools.query_tools import Find
from mirrord.mcp.tools.restructure_tools import EditPages, RenameHeading
from mirrord.mcp.tools.write_tools import Edit


class Part(Arguments):
    find: str
    count: int = 1


class Given(Arguments):
    path: Annotated[str, Field(description="Where.")]
    expected_digest: str | None = None
    depth: int = Field(1, ge=1)
    kind: Literal["a", "b"] | None = None
    parts: tuple[Part, ...] = ()


def refusal(values: dict[str, Any]) -> Failed:
    with pytest.raises(Failed) as refused:
        parse_arguments(Given, "act", values)
    assert (refused.value.code, refused.value.kind) == ("INVALID_ARGUMENTS", "invalid")
    assert "pydantic" not in str(refused.value)
    assert "http" not in str(refused.value)
    return refused.value


def test_names_are_camel_case_on_the_wire() -> None:
    assert parse_arguments(Given, "act", {"path": "A", "expectedDigest": "x"}).expected_digest == "x"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("expected_digest", "expectedDigest"), ("Kind", "kind"), ("digest", "expectedDigest"), ("dept", "depth")],
)
def test_an_unknown_name_is_answered_with_the_nearest_right_one(wrong: str, right: str) -> None:
    assert str(refusal({"path": "A", wrong: "x"})) == f"act has no argument {wrong!r}; did you mean {right!r}?"


def test_a_name_that_was_given_already_is_not_suggested() -> None:
    sent = {"path": "A", "expectedDigest": "x", "expected": "x"}
    assert str(refusal(sent)) == "act has no argument 'expected'."


def test_a_name_like_no_other_is_answered_with_all_there_are() -> None:
    refused = refusal({"path": "A", "zzzzzz": 1})
    assert str(refused) == "act has no argument 'zzzzzz'."
    assert refused.instruction == "Call act with: path; optionally expectedDigest, depth, kind, parts."


@pytest.mark.parametrize(("wrong", "right"), [("oldText", "find"), ("old_string", "find"), ("new_string", "replace")])
def test_names_of_other_tools_are_answered_with_ours(wrong: str, right: str) -> None:
    with pytest.raises(Failed) as caught:
        parse_arguments(Edit, "edit_page", {"path": "A", "edits": [{wrong: "x"}]})
    assert str(caught.value) == f"edit_page has no argument 'edits.0.{wrong}'; did you mean {right!r}?"


@pytest.mark.parametrize("word", ["all", "replaceAll", "replace_all"])
def test_whoever_wants_all_places_is_told_how_in_one_page_and_in_many(word: str) -> None:
    with pytest.raises(Failed) as caught:
        parse_arguments(Edit, "edit_page", {"path": "A", "edits": [{"find": "x", "replace": "y", word: True}]})
    assert str(caught.value).startswith(f"edit_page has no argument 'edits.0.{word}'; count says how often find occurs")
    assert "edit_pages" in str(caught.value)


def test_a_key_beside_set_and_remove_is_answered_with_these() -> None:
    with pytest.raises(Failed) as caught:
        parse_arguments(Edit, "edit_page", {"path": "A", "edits": [{"frontMatter": {"status": "done"}}]})
    assert str(caught.value) == (
        "edit_page has no argument 'edits.0.frontMatter.status'; frontMatter takes set, remove."
    )


def test_names_that_models_guess_are_answered_with_ours() -> None:
    with pytest.raises(Failed, match=r"'edits.0.section'; did you mean 'heading'\?"):
        parse_arguments(Edit, "edit_page", {"path": "A", "edits": [{"section": "Log", "text": "x"}]})
    with pytest.raises(Failed, match=r"'newHeading'; did you mean 'to'\?"):
        parse_arguments(RenameHeading, "rename_heading", {"path": "A", "heading": "Log", "newHeading": "x"})


def test_a_key_in_a_list_whose_schema_is_elsewhere_is_answered_with_all_there_are() -> None:
    with pytest.raises(Failed) as caught:
        parse_arguments(EditPages, "edit_pages", {"edits": [{"find": "a", "zzzzzz": True}]})
    assert str(caught.value) == (
        "edit_pages has no argument 'edits.0.zzzzzz'; edits takes find, replace, count, heading, action, text, append, "
        "frontMatter, word, tag, task, done."
    )


def test_conditions_that_are_a_list_are_answered_with_an_example() -> None:
    with pytest.raises(Failed, match=r"'where' of find_pages must be an object of conditions by key, such as \{"):
        parse_arguments(Find, "find_pages", {"where": [{"key": "status", "equals": "open"}]})


def test_a_list_is_called_a_list() -> None:
    with pytest.raises(Failed, match=r"'edits' of edit_page must be a list\."):
        parse_arguments(Edit, "edit_page", {"path": "A", "edits": 3})
    with pytest.raises(Failed, match="'edits' of edit_page needs at least 1 item, not 0"):
        parse_arguments(Edit, "edit_page", {"path": "A", "edits": []})


def test_what_is_missing_is_named() -> None:
    assert str(refusal({})) == "act needs the argument 'path'."


def test_a_wrong_value_is_explained() -> None:
    assert str(refusal({"path": "A", "depth": 0})) == (
        "The argument 'depth' of act should be greater than or equal to 1."
    )
    assert "'parts.0.find'" in str(refusal({"path": "A", "parts": [{"count": 1}]}))


def test_a_text_that_is_json_stays_a_text() -> None:
    for text in ('{"a": 1}', "[1]", "null", "true", "12"):
        assert parse_arguments(Given, "act", {"path": text}).path == text


def test_null_is_as_good_as_absent() -> None:
    assert parse_arguments(Given, "act", {"path": "A", "expectedDigest": None}).expected_digest is None


def test_lone_surrogates_are_no_text() -> None:
    assert str(refusal({"path": "\ud800"})) == "An argument of act is not Unicode text."


def test_a_number_that_is_too_large_is_called_so() -> None:
    assert str(refusal({"path": "A", "depth": 10**30})) == "An argument of act is a number of more than 64 bits."


@pytest.mark.parametrize("number", [float("inf"), float("-inf")])
def test_a_command_gets_the_numbers_that_json_lacks_and_refuses_them(number: float) -> None:
    edits = [{"frontMatter": {"set": {"a": number}}}]
    arguments = parse_arguments(Edit, "edit_page", {"path": "A", "edits": edits}).for_command()
    assert arguments["edits"][0]["front_matter"]["set"] == {"a": number}


def test_the_schema_says_nothing_that_no_model_needs() -> None:
    schema = schema_of(Given)

    assert schema["additionalProperties"] is False
    assert schema["required"] == ["path"]
    assert schema["properties"]["path"] == {"description": "Where.", "type": "string"}
    assert schema["properties"]["expectedDigest"] == {"type": "string"}
    assert schema["properties"]["kind"] == {"enum": ["a", "b"], "type": "string"}
    assert schema["properties"]["depth"] == {"default": 1, "type": "integer"}
    assert "title" not in str(schema)


def test_a_property_may_be_called_title() -> None:
    class Named(Arguments):
        title: str

    assert schema_of(Named)["properties"] == {"title": {"type": "string"}}


def test_nothing_is_near_to_what_is_far() -> None:
    assert nearest_name("xyz", ["path", "depth"]) is None
