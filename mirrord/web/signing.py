"""Signing in by a link that works once, and signing out."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.web.desk import answered, desk_of, session_of
from mirrord.web.gate import SESSION
from mirrord.web.paint import painted

_PLAIN = ("localhost", "127.0.0.1", "::1")


async def sign_in(request: Request) -> Response:
    """GET /sign-in?token=: lets whoever has the token in, once."""
    desk, token = desk_of(request), request.query_params.get("token", "")
    if request.method == "HEAD" or not token:  # asking whether a link is there does not use it up
        return painted(request, "sign_in.html", 200 if session_of(request) else 401)
    cookie = desk.gate.admit(token)  # a right one is let in however many wrong ones come from behind the same proxy
    if cookie is None:
        if not desk.sign_ins.allows(request.client.host if request.client else ""):
            raise HTTPException(429, "So many tries at once are not answered; wait a minute.")
        return painted(request, "sign_in.html", 403, problem="This link was used already, or its time is over.")
    response = RedirectResponse("/", 303)
    response.set_cookie(
        desk.gate.cookie,
        cookie,
        max_age=SESSION,
        httponly=True,
        samesite="lax",
        secure=request.url.hostname not in _PLAIN,  # by another name it is reached through a proxy that does TLS
    )
    return response


async def sign_out(request: Request) -> Response:
    """POST /sign-out: the cookie lets nobody in any more, wherever it was copied to."""
    desk, session = desk_of(request), session_of(request)
    if session is not None:
        desk.gate.end(session)
    response = answered({"href": "/sign-in"})
    response.delete_cookie(desk.gate.cookie)
    return response
