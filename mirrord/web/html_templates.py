"""HTML pages from templates; everything inserted is escaped."""

import hashlib
import os
import re
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from mirrord.web.request_context import app_context_of, session_of

_HERE = Path(__file__).parent
STATIC_DIRECTORY = _HERE / "static"
EDITOR_SCRIPT = STATIC_DIRECTORY / "built" / "editor.js"
_DIGEST = re.compile("[0-9a-f]{16}")
_CACHE_FOREVER = "private, max-age=31536000, immutable"


class Assets(StaticFiles):
    """
    The console's own files. In URLs with their digest browsers cache them for good, compiled code included; in other
    URLs browsers revalidate them.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, or 304 if it has not changed."""
        prefix, _, name = path.partition(os.sep)
        response = await super().get_response(name if _DIGEST.fullmatch(prefix) else path, scope)
        response.headers["Cache-Control"] = _CACHE_FOREVER if prefix == digest_of_assets() else "no-cache"
        return response


def digest_of_assets() -> str:
    """A digest of all own files, used as URL prefix so that the files of a page belong together."""
    files = []
    for parent, _, names in os.walk(STATIC_DIRECTORY):
        for name in names:
            with suppress(FileNotFoundError):  # `make web` is running
                status = (file := Path(parent, name)).stat()
                files.append((file, status.st_size, status.st_mtime_ns))
    return _digest_of_files(tuple(sorted(files)))


@lru_cache(maxsize=1)
def _digest_of_files(files: tuple[tuple[Path, int, int], ...]) -> str:
    """files: (path, size, mtime) of each; equal values mean equal contents."""
    digest = hashlib.blake2b(digest_size=8)
    for file, size, _ in files:
        digest.update(f"{file.relative_to(STATIC_DIRECTORY)} {size}\n".encode())
        with suppress(FileNotFoundError):
            digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of the console for the session of *request*."""
    session = session_of(request)
    defaults = {
        "session": session,
        "csrf": app_context_of(request).gate.csrf_token(session) if session else "",
        "tenant": request.path_params.get("tenant"),
        "problem": None,
        "assets": f"/static/{digest_of_assets()}",
    }
    return HTMLResponse(_templates().get_template(template).render(defaults | values), status)
