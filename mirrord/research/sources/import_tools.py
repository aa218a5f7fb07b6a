"""Tools that import files and surveys."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from mirrord.mcp.tools.arguments import COUNT, TEXT, Underscored, array_schema, from_json, nullable, result_schema
from mirrord.mcp.tools.tool import Tool, Wire, fields_of
from mirrord.research.sources.folder_tools import Top

FilePath = Annotated[str, Field(description="Absolute path of a file on the server's machine.")]


class Import(Underscored):
    """What import_file takes."""

    path: FilePath
    copy_: Annotated[bool, Field(alias="copy", description="Keep the file beside the page; false: link to it.")] = True
    folder_id: Annotated[Top, Field(description="Default: no folder.")] = None
    name: Annotated[str | None, Field(description="Default: the file's; unique among sources.")] = None

    def for_command(self) -> dict[str, Any]:
        """Rename copy_: `copy` is a method of pydantic models."""
        return {**self.model_dump(mode="json", exclude={"copy_"}), "copy": self.copy_}


class Mapping(Underscored):
    """What one column is."""

    column: Annotated[
        int | str, WithJsonSchema({"type": ["integer", "string"], "description": "Header, or index from 0."})
    ]
    target: Literal["source_text", "case_attribute", "identifier", "skip"]
    attribute_name: str | None = None
    attribute_type: Literal["text", "number", "date", "boolean"] | None = None


class Survey(Underscored):
    """What import_survey takes."""

    path: FilePath
    delimiter: Literal["auto", "comma", "tab", "semicolon", "pipe", ",", "\t", ";", "|"] = "auto"
    has_header: bool = True
    column_mappings: Annotated[tuple[Mapping, ...], BeforeValidator(from_json)] = ()
    collation: Annotated[
        Literal["per_column", "per_row", "single"], Field(description="What is one source: a question, a row, all.")
    ] = "per_column"


def _import_answer(imported: Any) -> Wire:
    answer = dict(fields_of(imported))
    empty = {key for key in ("duplicates", "warnings") if not answer[key]}
    return {"pageId" if key == "page_id" else key: value for key, value in answer.items() if key not in empty}


IMPORT_FILE = Tool(
    "import_file",
    "Import a file as a source",
    "Makes a source page of a text, Markdown, docx, odt, rtf, epub, html or pdf file; recordings and images get a page "
    "that shows them. Only from directories the operator allows. People are notified. "
    'Example: {"path": "/tmp/interview.docx", "folder_id": 17}.',
    Import,
    result_schema(
        {
            "source_id": COUNT,
            "source_type": TEXT,
            "name": TEXT,
            "path": TEXT,
            "pageId": TEXT,
            "digest?": TEXT,
            "folder_id?": nullable(COUNT),
            "original?": nullable(TEXT),
            "duplicates?": array_schema({"type": "object"}),
            "warnings?": array_schema(TEXT),
        }
    ),
    wire=_import_answer,
    writes=True,
    idempotent=False,
)
IMPORT_SURVEY = Tool(
    "import_survey",
    "Import a survey",
    "Imports a table of text (CSV): texts become sources, rows become cases with typed attributes, linked to each "
    "other; all or nothing, faults by line. Without column_mappings the failure lists the columns. "
    'Example: {"path": "/tmp/wave.csv", "column_mappings": [{"column": "Id", "target": "identifier"}, '
    '{"column": "Why?", "target": "source_text"}]}.',
    Survey,
    result_schema(
        {
            "sources_created": COUNT,
            "cases_created": COUNT,
            "rows_processed": COUNT,
            "name?": TEXT,
            "folder_id?": COUNT,
            "path?": TEXT,
            "cases_path?": nullable(TEXT),
            "source_ids?": array_schema(COUNT),
            "warnings?": array_schema(TEXT),
        }
    ),
    writes=True,
    idempotent=False,
)
IMPORTS = (IMPORT_FILE, IMPORT_SURVEY)
