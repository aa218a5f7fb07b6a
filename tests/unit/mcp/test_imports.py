"""What agents send to import files and surveys is what the commands take."""

import inspect

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.domain.trust import Trust
from mirrord.mcp.tools.arguments import parse_arguments
from mirrord.research.sources.file_imports import import_file
from mirrord.research.sources.source_tools import IMPORT_FILE, IMPORT_SURVEY
from mirrord.research.surveys.survey_import import import_survey


def test_a_file_that_stays_where_it_is_is_asked_for_by_the_word_copy() -> None:
    arguments = parse_arguments(
        IMPORT_FILE.arguments, "import_file", {"path": "/a.mp4", "copy": False, "folder_id": "7"}
    )
    assert arguments.for_command() == {"path": "/a.mp4", "copy": False, "folder_id": "7", "name": None}
    inspect.signature(import_file.plan).bind(None, **import_file.read_arguments(**arguments.for_command()))


@pytest.mark.parametrize("sent", [[{"column": 0, "target": "source_text"}], '[{"column": 0, "target": "source_text"}]'])
def test_mappings_may_come_as_text(sent: object) -> None:
    arguments = parse_arguments(IMPORT_SURVEY.arguments, "import_survey", {"path": "/a.csv", "column_mappings": sent})
    (mapping,) = arguments.for_command()["column_mappings"]
    assert (mapping["column"], mapping["target"], mapping["attribute_type"]) == (0, "source_text", None)
    inspect.signature(import_survey.plan).bind(None, **import_survey.read_arguments(**arguments.for_command()))


def test_a_misspelt_argument_of_a_mapping_is_named() -> None:
    wrong = {"path": "/a.csv", "column_mappings": [{"column": "Id", "target": "id"}]}
    with pytest.raises(Failed, match=r"column_mappings\.0\.target"):
        parse_arguments(IMPORT_SURVEY.arguments, "import_survey", wrong)


def test_columns_are_headers_or_numbers_in_the_schema() -> None:
    schema = IMPORT_SURVEY.entry_for(Trust.REQUIRE).input_schema
    column = schema["properties"]["column_mappings"]["items"]["properties"]["column"]
    assert column["type"] == ["integer", "string"]
