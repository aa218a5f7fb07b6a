"""Pages of HTML from templates: everything that is put in is escaped."""

import os
from functools import cache
from os import PathLike
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


class Assets(StaticFiles):
    """Our own files: a browser keeps what it made of them, and asks whether they changed."""

    def file_response(
        self, full_path: str | PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The file, or that it did not change."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "no-cache"
        return response


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
    }
    return HTMLResponse(_templates().get_template(template).render(known | values), status)
