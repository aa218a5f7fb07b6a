"""Attachments through a real client: lists, the text of documents, pictures, bytes as base64, and drafts."""

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ImageContent, TextContent

from mirrord.commands.pages.attachment_reading import MAX_PICTURE_BYTES
from mirrord.mcp.admission import Tenant
from tests.support.clients import Agent, in_memory, tenant_in
from tests.unit.convert.documents import HTML, PNG, REAL, sealed_word

PAGES = {
    "Projects/Alpha.md": "# Alpha\n\n![](./assets/plan.png) and [guide](./assets/guide.pdf)\n",
    "Projects/Beta.md": "---\noriginal: ./assets/guide.pdf\n---\n\n# Beta\n",
    "Notes.md": "# Notes\n\n![[photo.png]]\n",
}
FILES = {
    "Projects/assets/plan.png": PNG,
    "Projects/assets/guide.pdf": (REAL / "guide.pdf").read_bytes(),
    "Projects/assets/guide.html": HTML.encode(),
    "assets/photo.png": PNG + b"\0" * MAX_PICTURE_BYTES,
    "assets/long.txt": b"0123456789" * 3_000,
    "assets/drawing.svg": b"<svg><text>Hi</text></svg>",
    "assets/scan.tif": b"II*\0" + b"\0" * 40,
    "assets/sealed.docx": sealed_word(),
    "assets/broken.docx": b"PK\x03\x04word/",
}
SETS = ("pages", "changes", "attachments")


@pytest.fixture
def tenant(tmp_path: Path) -> Tenant:
    tenant = tenant_in(tmp_path / "mirror", pages=PAGES)
    for path, data in FILES.items():
        file = tenant.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return tenant


async def picture_of(agent: Agent, path: str) -> tuple[dict[str, Any], ImageContent]:
    """What is said about a picture, and the picture."""
    result = await agent.client.call_tool("read_attachment", {"path": path})
    text, picture = result.content
    assert isinstance(text, TextContent)
    assert isinstance(picture, ImageContent)
    assert not result.is_error
    assert result.structured_content is None
    return json.loads(text.text), picture


async def test_attachments_are_listed_with_the_pages_that_show_them(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=SETS) as agent:
        everything = await agent.call("list_attachments")
        below = await agent.call("list_attachments", path="Projects")
        of_page = await agent.call("list_attachments", path="Notes")
        unknown = await agent.refused("list_attachments", path="Nowhere")

    assert [item["path"] for item in everything["attachments"]] == sorted(FILES)
    assert everything["total"] == len(FILES)
    guide = next(item for item in below["attachments"] if item["path"] == "Projects/assets/guide.pdf")
    assert guide == {
        "path": "Projects/assets/guide.pdf",
        "type": "application/pdf",
        "size": len(FILES["Projects/assets/guide.pdf"]),
        "pages": ["Projects/Alpha.md", "Projects/Beta.md"],
    }
    assert below["total"] == 3
    assert [(item["path"], item["pages"]) for item in of_page["attachments"]] == [("assets/photo.png", ["Notes.md"])]
    assert unknown["code"] == "PAGE_NOT_FOUND"


async def test_a_long_list_of_attachments_goes_on_with_its_cursor(tenant: Tenant) -> None:
    for number in range(60):
        (tenant.root / "assets" / f"file with a long name {number:03}.txt").write_bytes(b"x")
    async with in_memory(tenant, sets=SETS) as agent:
        first = await agent.call("list_attachments")
        listed, cursor = [*first["attachments"]], first["nextCursor"]
        while cursor is not None:
            following = await agent.call("list_attachments", cursor=cursor)
            listed += following["attachments"]
            cursor = following.get("nextCursor")

    assert len(json.dumps(first)) <= 4_800
    assert len({item["path"] for item in listed}) == len(listed) == first["total"] == 60 + len(FILES)


async def test_the_text_of_documents_is_shown_in_parts(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=SETS) as agent:
        guide = await agent.call("read_attachment", path="Projects/assets/guide.pdf")
        part = await agent.call("read_attachment", path="Projects/assets/guide.pdf", offset=2, limit=11)
        page = await agent.call("read_attachment", path="projects/assets/GUIDE.html")
        drawing = await agent.call("read_attachment", path="assets/drawing.svg")
        long = await agent.call("read_attachment", path="assets/long.txt")
        ending = await agent.call("read_attachment", path="assets/long.txt", offset=long["nextOffset"])

    assert guide["text"].startswith("# Field guide\n")
    assert guide["note"] == "Pictures in the document are named, not shown: 1."
    assert "](image-1.jpg)" in guide["text"]
    assert (part["text"], part["nextOffset"], part["totalChars"]) == ("Field guide", 13, len(guide["text"]))
    assert page["path"] == "Projects/assets/guide.html"
    assert "- apples" in page["text"]
    assert "alert" not in page["text"]
    assert drawing["text"] == "<svg><text>Hi</text></svg>"
    assert long["text"] + ending["text"] == "0123456789" * 3_000
    assert "nextOffset" not in ending


async def test_a_picture_is_image_content_and_what_cannot_be_shown_says_why(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=SETS) as agent:
        facts, picture = await picture_of(agent, "Projects/assets/plan.png")
        large = await agent.call("read_attachment", path="assets/photo.png")
        scan = await agent.call("read_attachment", path="assets/scan.tif")
        sealed = await agent.call("read_attachment", path="assets/sealed.docx")
        broken = await agent.refused("read_attachment", path="assets/broken.docx")

    assert facts == {"path": "Projects/assets/plan.png", "type": "image/png", "size": len(PNG)}
    assert (picture.mime_type, b64decode(picture.data)) == ("image/png", PNG)
    assert f"at most {MAX_PICTURE_BYTES} are shown" in large["note"]
    assert "cannot be shown" in scan["note"]
    assert "password" in sealed["note"]
    assert (broken["code"], "text" in large) == ("UNREADABLE", False)


@pytest.mark.parametrize(
    ("path", "code", "advice"),
    [
        ("assets/guide.pdf", "ATTACHMENT_NOT_FOUND", "Did you mean Projects/assets/guide.pdf?"),
        ("Notes.md", "ATTACHMENT_NOT_FOUND", "Pages are read by read_page."),
        (".mirrord/state.db", "ATTACHMENT_NOT_FOUND", "Call list_attachments"),
        ("../other/assets/x.png", "FORBIDDEN", "begin at the tenant's root"),
        ("/etc/passwd", "FORBIDDEN", "begin at the tenant's root"),
    ],
)
async def test_a_path_that_is_of_no_attachment_is_refused(tenant: Tenant, path: str, code: str, advice: str) -> None:
    async with in_memory(tenant, sets=SETS) as agent:
        refused = await agent.refused("read_attachment", path=path)

    assert refused["code"] == code
    assert advice in refused["instruction"]


async def test_a_file_that_may_not_be_attached_is_answered_with_the_way_for_its_bytes(tenant: Tenant) -> None:
    async with in_memory(tenant, sets=SETS) as agent:
        refused = await agent.refused("add_attachment", pagePath="Notes.md", filePath="/nowhere/plan.png")

    assert refused["code"] == "FILE_NOT_FOUND"
    assert "base64 and fileName" in refused["instruction"]


async def test_bytes_are_attached_as_base64_and_in_a_draft_only_there(tenant: Tenant) -> None:
    encoded = b64encode(PNG + b"new").decode()
    async with in_memory(tenant, sets=SETS) as agent:
        await agent.call("begin_changes", title="Pictures")
        attached = await agent.call("add_attachment", pagePath="Projects/Alpha.md", fileName="plan.png", base64=encoded)
        again = await agent.call("add_attachment", pagePath="Projects/Alpha.md", fileName="plan.png", base64=encoded)
        _, picture = await picture_of(agent, "Projects/assets/plan-2.png")
        listed = await agent.call("list_attachments", path="Projects")
        assert not (tenant.root / "Projects/assets/plan-2.png").exists()
        await agent.call("apply_changes")
        refusals = [
            await agent.refused("add_attachment", pagePath="Notes.md", **arguments)
            for arguments in (
                {},
                {"base64": encoded},
                {"base64": encoded, "fileName": "a.png", "filePath": "a.png"},
                {"base64": "data:image/png;base64,AAAA", "fileName": "a.png"},
                {"base64": b64encode(bytes((2 << 20) + 1)).decode(), "fileName": "a.png"},
            )
        ]

    assert attached == again
    assert attached["markdownSyntax"] == "![](./assets/plan-2.png)"
    assert b64decode(picture.data) == PNG + b"new"
    assert listed["total"] == 4
    assert (tenant.root / "Projects/assets/plan-2.png").read_bytes() == PNG + b"new"
    codes = [refused["code"] for refused in refusals]
    assert codes == [*["INVALID_ARGUMENTS"] * 3, "INVALID_BASE64", "TOO_LARGE"]
