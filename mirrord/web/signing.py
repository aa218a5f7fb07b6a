"""Sign-in by single-use links, and sign-out."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.web.desk import app_context_of, json_response, session_of
from mirrord.web.gate import SESSION_SECONDS
from mirrord.web.paint import render_page

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


async def sign_in(request: Request) -> Response:
    """GET /sign-in?token=: sign in with an unused token."""
    desk, token = app_context_of(request), request.query_params.get("token", "")
    if request.method == "HEAD" or not token:  # a check of the link does not use it up
        return render_page(request, "sign_in.html", 200 if session_of(request) else 401)
    cookie = desk.gate.admit(token)  # no limit for valid tokens, even with many invalid ones from the same proxy
    if cookie is None:
        if not desk.sign_in_rate.allows(request.client.host if request.client else ""):
            raise HTTPException(429, "Too many attempts. Try again in a minute.")
        return render_page(request, "sign_in.html", 403, problem="This link has been used already or has expired.")
    response = RedirectResponse("/", 303)
    response.set_cookie(
        desk.gate.cookie,
        cookie,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="lax",
        secure=request.url.hostname not in _LOOPBACK_HOSTS,  # other names are served by a proxy with TLS
    )
    return response


async def sign_out(request: Request) -> Response:
    """POST /sign-out: invalidate the cookie, including its copies."""
    desk, session = app_context_of(request), session_of(request)
    if session is not None:
        desk.gate.end_session(session)
    response = json_response({"href": "/sign-in"})
    response.delete_cookie(desk.gate.cookie)
    return response
