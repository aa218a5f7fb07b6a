"""The tool that detects speakers in a source."""

from typing import Literal

from mirrord.mcp.tools.arguments import ANY, COUNT, TEXT, Underscored, array_schema, nullable, result_schema
from mirrord.mcp.tools.tool import Tool
from mirrord.research.sources.source_tools import SourceId


class Detect(Underscored):
    """What detect_speakers takes."""

    source_id: SourceId
    format: Literal["auto", "colon", "bracket", "brace"] = "auto"


DETECT_SPEAKERS = Tool(
    "detect_speakers",
    "Detect speakers",
    "Finds who speaks in a transcript (Ana: …, [Ana] …, {Ana} …) and marks each turn as a segment labelled with the "
    'name, in place of those it marked before. Example: {"source_id": 4}.',
    Detect,
    result_schema(
        {
            "speakers": array_schema(TEXT),
            "count": COUNT,
            "format_used": nullable(TEXT),
            "occurrences": ANY,
            "segments_count?": COUNT,
        }
    ),
    writes=True,
)
SPEAKERS = (DETECT_SPEAKERS,)
