"""Pages of HTML from templates: everything that is put in is escaped."""

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

from mirrord.web.desk import desk_of, session_of

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
EDITOR = STATIC / "built" / "editor.js"
_DIGEST = re.compile("[0-9a-f]{16}")
_FOR_EVER = "private, max-age=31536000, immutable"


class Assets(StaticFiles):
    """
    Our own files. Below their digest a browser keeps them and never asks again, and with them what it made of them;
    below anything else it asks whether they changed.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, or that it did not change."""
        first, _, rest = path.partition(os.sep)
        response = await super().get_response(rest if _DIGEST.fullmatch(first) else path, scope)
        response.headers["Cache-Control"] = _FOR_EVER if first == digest_of_assets() else "no-cache"
        return response


def digest_of_assets() -> str:
    """What changes with any of our files: the beginning of where a page finds them, so that they fit together."""
    found = []
    for parent, _, names in os.walk(STATIC):
        for name in names:
            with suppress(FileNotFoundError):  # `make web` is at work
                known = (file := Path(parent, name)).stat()
                found.append((file, known.st_size, known.st_mtime_ns))
    return _digest(tuple(sorted(found)))


@lru_cache(maxsize=1)
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """files: path, size and age of each: while these are the same, so is what is in them."""
    digest = hashlib.blake2b(digest_size=8)
    for file, size, _ in files:
        digest.update(f"{file.relative_to(STATIC)} {size}\n".encode())
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


def painted(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of the console for whoever asks."""
    session = session_of(request)
    known = {
        "session": session,
        "csrf": desk_of(request).gate.mark(session) if session else "",
        "tenant": request.path_params.get("tenant"),
        "problem": None,
        "assets": f"/static/{digest_of_assets()}",
    }
    return HTMLResponse(_templates().get_template(template).render(known | values), status)
