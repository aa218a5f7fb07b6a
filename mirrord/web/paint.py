"""Pages of HTML from templates: everything that is put in is escaped."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse

from mirrord.web.desk import desk_of, session_of

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
EDITOR = STATIC / "built" / "editor.js"


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
