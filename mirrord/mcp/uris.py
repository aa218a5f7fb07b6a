"""URIs of pages: `page:///Projects/Alpha.md`, percent-encoded."""

from urllib.parse import quote, unquote

from mirrord.mirror.layout import INDEX_FILE, SUFFIX

SCHEME = "page:///"
TEMPLATE = SCHEME + "{+path}"


def uri_of(path: str) -> str:
    """The URI of the page at *path*."""
    return SCHEME + quote(path)


def paths_of(uri: str) -> tuple[str, ...]:
    """Possible paths of the page of *uri*; empty if it is not the URI of a page."""
    if not uri.startswith(SCHEME):
        return ()
    path = unquote(uri.removeprefix(SCHEME))
    return (path,) if path.endswith(SUFFIX) else (f"{path}{SUFFIX}", f"{path}/{INDEX_FILE}")
