"""Tools that list attachments and show what is in them."""

from base64 import b64encode
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import COUNT, TEXT, Arguments, array_schema, object_schema, result_schema
from mirrord.mcp.tools.find_tools import Cursor, with_cursor
from mirrord.mcp.tools.read_tools import MAX_ANSWER_CHARACTERS
from mirrord.mcp.tools.replies import PictureAnswer
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.pages.attachment_reading import ListedAttachment

_LISTED = object_schema(path=TEXT, type=TEXT, size=COUNT, pages=array_schema(TEXT), morePages=COUNT)


class ListAttachments(Arguments):
    """What list_attachments takes."""

    path: Annotated[str | None, Field(description="Of this page or folder.")] = None
    cursor: Cursor = None


class ReadAttachment(Arguments):
    """What read_attachment takes."""

    path: str
    offset: Annotated[int, Field(ge=0, description="nextOffset, to go on.")] = 0
    limit: Annotated[int | None, Field(ge=1, le=MAX_ANSWER_CHARACTERS, description="Characters.")] = None


def _list_attachments(session: Session, arguments: ListAttachments) -> Wire:
    from mirrord.commands.pages.attachment_reading import list_attachments

    attachments = list_attachments(session, arguments.path, arguments.cursor)
    answer = {"attachments": [_listed(attachment) for attachment in attachments.attachments]}
    return with_cursor({**answer, "total": attachments.total}, attachments.next_cursor)


def _listed(attachment: "ListedAttachment") -> Wire:
    more_count = attachment.page_count - len(attachment.pages)
    return {
        "path": attachment.path,
        "type": attachment.media_type,
        "size": attachment.size,
        "pages": list(attachment.pages),
        **({"morePages": more_count} if more_count else {}),
    }


def _read_attachment(session: Session, arguments: ReadAttachment) -> Wire:
    from mirrord.commands.pages.attachment_reading import MAX_TEXT_CHARACTERS, read_attachment

    content = read_attachment(session, arguments.path, arguments.offset, arguments.limit or MAX_TEXT_CHARACTERS)
    answer: dict[str, Any] = {"path": content.path, "type": content.media_type, "size": content.size}
    if content.picture is not None:
        return PictureAnswer(answer, content.media_type, b64encode(content.picture).decode())
    if content.text is not None:
        answer |= {"text": content.text, "totalChars": content.total_chars}
    optional = {"nextOffset": content.next_offset, "note": content.note}
    return {**answer, **{key: value for key, value in optional.items() if value is not None}}


LIST_ATTACHMENTS = Tool(
    "list_attachments",
    "List attachments",
    "Lists files that pages show or link to, with type, size in bytes and those pages. "
    'Example: {"path": "Projects/Alpha.md"}.',
    ListAttachments,
    result_schema({"attachments": array_schema(_LISTED), "total": COUNT, "nextCursor?": TEXT}),
    _list_attachments,
    searches=True,
)
READ_ATTACHMENT = Tool(
    "read_attachment",
    "Read an attachment",
    "Shows the text of a PDF, docx, odt, HTML or text file, or a picture; of others type and size. "
    'Example: {"path": "Projects/assets/plan.pdf"}.',
    ReadAttachment,
    result_schema(
        {
            "path": TEXT,
            "type": TEXT,
            "size": COUNT,
            "text?": TEXT,
            "totalChars?": COUNT,
            "nextOffset?": COUNT,
            "note?": TEXT,
        }
    ),
    _read_attachment,
    searches=True,
)

ATTACHMENT_TOOLS = (LIST_ATTACHMENTS, READ_ATTACHMENT)
