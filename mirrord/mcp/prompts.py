"""Prompts: ways of working that clients offer people as commands."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import Field

Text = Annotated[str, Field(description="In your own words.")]
PagePath = Annotated[str, Field(description="Path of a page, such as Projects/Alpha.md.")]


def answer_from_pages(question: Text) -> str:
    """Answer a question from the knowledge base, naming the pages."""
    return (
        f"Answer this question from the knowledge base: {question}\n\n"
        "Search with search_pages in several wordings, read the best pages with read_pages, and follow links with "
        "get_page_links where they help. Answer only from what the pages say, name each page you used by its path, and "
        "say plainly what the pages do not tell. Change nothing."
    )


def file_notes(notes: Text) -> str:
    """Put notes where they belong: into pages there are, or new ones."""
    return (
        f"File these notes in the knowledge base:\n\n{notes}\n\n"
        "Look at the structure with get_tree and search for pages on the same subjects. Add to pages that exist with "
        "edit_page, in their style and under the heading that fits; make new pages with create_page only for subjects "
        "that have none, and link them with [[Page name]]. Add nothing that the notes do not say. At the end list the "
        "pages you changed or made."
    )


def review_page(path: PagePath) -> str:
    """Look one page over: structure, broken links, what is out of date."""
    return (
        f"Review the page {path}. Read it with read_page and look at its links with get_page_links: a target without a "
        "path is broken, and search_pages may find what was meant. Then propose, as a short list, what to mend: broken "
        "links, contradictions with linked pages, unclear headings, open ends. Change nothing until the person agrees, "
        "then use edit_page with small edits."
    )


def register_prompts(server: MCPServer[None]) -> None:
    """Register all prompts."""
    for prompt, title in (
        (answer_from_pages, "Answer from the pages"),
        (file_notes, "File notes"),
        (review_page, "Review a page"),
    ):
        server.prompt(title=title)(prompt)
