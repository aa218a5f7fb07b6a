"""In which of the protocol's two channels an answer to an agent is sent."""

from enum import StrEnum


class AnswerForm(StrEnum):
    """The channels of an answer: text, structured content, or the same in both."""

    BOTH = "both"
    STRUCTURED = "structured"
    TEXT = "text"
