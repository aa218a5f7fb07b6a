"""URIs of pages: `page:///Projects/Alpha.md`, percent-encoded."""

from urllib.parse import quote, unquote

from mirrord.mirror.layout import INDEX_FILE, SUFFIX

PAGE_SCHEME = "page:///"
PAGE_TEMPLATE = PAGE_SCHEME + "{+path}"


def uri_of(path: str) -> str:
    """The URI of the page at *path*."""
    return PAGE_SCHEME + quote(path)


def paths_from_uri(uri: str) -> tuple[str, ...]:
    """Possible paths of the page of *uri*; empty if it is not the URI of a page."""
    if not uri.startswith(PAGE_SCHEME):
        return ()
    path = unquote(uri.removeprefix(PAGE_SCHEME))
    return (path,) if path.endswith(SUFFIX) else (f"{path}{SUFFIX}", f"{path}/{INDEX_FILE}")
