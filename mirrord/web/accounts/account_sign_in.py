"""
Sign-in with an account: the browser is sent to the identity provider, and comes back with a code.

What belongs to one attempt is in a sealed cookie of the browser that began it, so an attempt costs the console nothing,
and a code that another browser brings is refused.
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mirrord.auth.issuer.openid_issuer import SignInAttempt, person_of
from mirrord.auth.sign_in import SESSION_SECONDS
from mirrord.errors import Refused
from mirrord.web.accounts.account_desk import AccountDesk
from mirrord.web.html_pages import cookie_options, render_page
from mirrord.web.request_context import app_context_of, not_found

ATTEMPT_SECONDS = 600  # until a person has signed in at the provider
_PURPOSE = "account sign-in"
_PATH = "/sign-in"
_RANDOM_BYTES = 32
_MAX_NAME_CHARACTERS = 60  # of a person in the history
_NAME_CLAIMS = ("name", "preferred_username")
_NO_ACCESS = "You are signed in there, and have no access here. The person who runs mirrord can give it to you."
_NOT_BEGUN = "This sign-in was not begun in this browser, or took too long. Begin again."


async def begin_sign_in(request: Request) -> Response:
    """GET /sign-in/account: to the provider."""
    desk = app_context_of(request)
    accounts = _desk_of(request)
    attempt = SignInAttempt(*(secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3)))
    try:
        url = await accounts.sign_in_url(attempt)
    except Refused as error:
        return _refusal(request, str(error), 502)
    facts = {"state": attempt.state, "nonce": attempt.nonce, "verifier": attempt.verifier}
    response = RedirectResponse(url, 303)
    sealed = desk.gate.seal(_PURPOSE, facts, ATTEMPT_SECONDS)
    response.set_cookie(_cookie_of(request), sealed, max_age=ATTEMPT_SECONDS, path=_PATH, **cookie_options(request))
    return response


async def finish_sign_in(request: Request) -> Response:
    """GET /sign-in/account/return: the provider's answer, by the browser."""
    desk, accounts = app_context_of(request), _desk_of(request)
    attempt = _attempt_of(request)
    if attempt is None:
        return _refusal(request, _NOT_BEGUN, 403)
    code, issuer = request.query_params.get("code", ""), request.query_params.get("iss")
    if not code or issuer not in (None, accounts.issuer.settings.url):
        return _refusal(request, "The identity provider did not let you in.", 403)
    try:
        claims = await accounts.redeem(code, attempt)
        person = person_of(claims, accounts.issuer.settings.claim)
    except Refused as error:
        return _refusal(request, str(error), 403)
    account = desk.gate.accounts.find(person)
    if account is None:
        return _refusal(request, _NO_ACCESS, 403)
    cookie = desk.gate.admit_account(account, _name_of(claims, person))
    response = RedirectResponse("/", 303)
    response.set_cookie(desk.gate.cookie, cookie, max_age=SESSION_SECONDS, **cookie_options(request))
    response.delete_cookie(_cookie_of(request), path=_PATH)
    return response


def _desk_of(request: Request) -> AccountDesk:
    """Raises 404 if people sign in by links only, and 429 for an address that tries too often."""
    desk = app_context_of(request)
    if desk.accounts is None:
        raise not_found()
    if not desk.account_rate.allows(request.client.host if request.client else ""):
        raise HTTPException(429, "Too many attempts. Try again in a minute.")
    return desk.accounts


def _attempt_of(request: Request) -> SignInAttempt | None:
    """The attempt that this browser began and the provider answers; None: another browser's, or too old."""
    sealed = request.cookies.get(_cookie_of(request), "")
    facts = app_context_of(request).gate.open(_PURPOSE, sealed)
    stated = request.query_params.getlist("state")
    if facts is None or len(stated) != 1:
        return None
    attempt = SignInAttempt(*(str(facts[name]) for name in ("state", "nonce", "verifier")))
    return attempt if hmac.compare_digest(attempt.state.encode(), stated[0].encode()) else None


def _cookie_of(request: Request) -> str:
    return f"{app_context_of(request).gate.cookie}_account"


def _refusal(request: Request, sentence: str, status: int) -> Response:
    response = render_page(request, "sign_in.html", status, problem=sentence)
    response.delete_cookie(_cookie_of(request), path=_PATH)
    return response


def _name_of(claims: Mapping[str, Any], person: str) -> str:
    """The name of a person in the history: one line, shortened."""
    stated = next((text for name in _NAME_CLAIMS if isinstance(text := claims.get(name), str) and text.strip()), person)
    words = "".join(letter if letter.isprintable() else " " for letter in stated).split()
    return " ".join(words)[:_MAX_NAME_CHARACTERS].strip() or person[:_MAX_NAME_CHARACTERS]
