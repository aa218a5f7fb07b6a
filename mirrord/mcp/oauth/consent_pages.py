"""The pages on which a person signs in, sees which client asks for what, and allows or refuses it."""

import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mirrord.auth.access_grant import REVIEW_SCOPE, Rights
from mirrord.auth.delegations import DELEGATION_DAYS
from mirrord.auth.sign_in import SESSION_SECONDS, Session
from mirrord.domain.trust import RateLimit
from mirrord.mcp.oauth.client_registry import name_of
from mirrord.mcp.oauth.provider import CONSENT_PATH, CONSENT_SECONDS, ConsentRequest, Provider, offered_rights

SIGN_IN_PATH = f"{CONSENT_PATH}/sign-in"
MAX_SIGN_INS = 20  # attempts a minute, of all people together
_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;margin:0}main{max-width:36rem;margin:3rem auto;padding:0 1rem}"
    "code{overflow-wrap:anywhere}label{display:block}fieldset{border:1px solid;border-radius:.4rem}"
    "button{font:inherit;padding:.4rem 1rem;margin-right:.5rem}input[name=link]{width:100%;font:inherit}"
)
_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "read": "read all pages",
        REVIEW_SCOPE: "read all pages, and propose changes that a person reviews",
        "write": "read and change all pages",
    }
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",  # with no-referrer the forms of these pages come from the origin null
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)
_EXPIRED = "This request has expired or was answered already. Connect again from the program."


@dataclass(frozen=True, slots=True)
class ConsentPages:
    """The pages of one server."""

    provider: Provider
    _sign_in_rate: RateLimit = field(default_factory=lambda: RateLimit(MAX_SIGN_INS))
    _answered: dict[str, float] = field(default_factory=dict)  # until when requests are remembered, by their ids

    async def show(self, request: Request) -> Response:
        """GET /consent?request=: the question, or the form to sign in."""
        sealed = request.query_params.get("request", "")
        consent = self._open_unanswered(sealed)
        if (refusal := self._refuse_foreign(request)) is not None:
            return refusal
        if consent is None:
            return _page("Nothing to allow", 400, problem=_EXPIRED)
        session = self._session_of(request)
        return self._ask(consent, sealed, session) if session is not None else _sign_in_page(sealed)

    async def sign_in(self, request: Request) -> Response:
        """POST /consent/sign-in: use up a sign-in link."""
        form = await request.form()
        sealed, link = str(form.get("request", "")), str(form.get("link", ""))
        if (refusal := self._refuse_foreign(request)) is not None:
            return refusal
        if self._open_unanswered(sealed) is None:
            return _page("Nothing to allow", 400, problem=_EXPIRED)
        if self._sign_in_rate.seconds_to_wait(time.monotonic()):
            return _sign_in_page(sealed, 429, "Too many attempts. Try again in a minute.")
        cookie = self.provider.gate.admit(_token_in(link))
        if cookie is None:
            return _sign_in_page(sealed, 403, "This link has been used already or has expired.")
        response = RedirectResponse(f"{CONSENT_PATH}?request={sealed}", 303, headers=_HEADERS)
        response.set_cookie(
            self.provider.gate.cookie,
            cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="lax",
            secure=self.provider.url.startswith("https:"),
        )
        return response

    async def answer(self, request: Request) -> Response:
        """POST /consent: the person's decision, sent on to the client."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        session = self._session_of(request)
        if (refusal := self._refuse_foreign(request)) is not None:
            return refusal
        if session is None or not self.provider.gate.is_csrf_token(session, form.get("csrf", "")):
            return _page("Not allowed", 403, problem="This answer did not come from the page that asked.")
        consent = self._open_unanswered(form.get("request", ""))
        if consent is None:
            return _page("Nothing to allow", 400, problem=_EXPIRED)
        rights = self._offered_rights(consent, session).get(form.get("rights", ""))
        is_allowed = form.get("decision") == "allow"
        if is_allowed and rights is None:
            return _page("Not allowed", 400, problem="Choose what the program may do.")
        self._answered[consent.id] = time.monotonic() + CONSENT_SECONDS
        if is_allowed and rights is not None:
            return RedirectResponse(self.provider.allow(consent, session, rights), 303, headers=_HEADERS)
        return RedirectResponse(self.provider.deny(consent), 303, headers=_HEADERS)

    def _open_unanswered(self, sealed: str) -> ConsentRequest | None:
        now = time.monotonic()
        for request_id in [request_id for request_id, until in self._answered.items() if until < now]:
            del self._answered[request_id]
        consent = self.provider.open_request(sealed)
        return consent if consent is not None and consent.id not in self._answered else None

    def _session_of(self, request: Request) -> Session | None:
        """Who is signed in, if they may decide about this tenant."""
        session = self.provider.gate.session(request.cookies.get(self.provider.gate.cookie, ""))
        return session if session and session.role_in(self.provider.tokens.tenant_id) is not None else None

    def _offered_rights(self, consent: ConsentRequest, session: Session) -> dict[str, Rights]:
        """What the person may choose from: a program gets no more than the person has."""
        role = session.role_in(self.provider.tokens.tenant_id)
        rights = offered_rights(consent.scopes)
        return rights if role is not None and role.may_write else {"read": rights["read"]}

    def _refuse_foreign(self, request: Request) -> Response | None:
        """A refusal of requests under other names than the server's own, and of forms on other sites."""
        if request.headers.get("host", "").lower() != urlsplit(self.provider.url).netloc.lower():
            return _page("Not here", 421, problem=f"Open this page at {self.provider.url}.")
        is_foreign = request.headers.get("origin", self.provider.url) != self.provider.url
        is_cross_site = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if request.method == "POST" and (is_foreign or is_cross_site):
            return _page("Not allowed", 403, problem="This answer came from another site.")
        return None

    def _ask(self, consent: ConsentRequest, sealed: str, session: Session) -> Response:
        scopes = list(self._offered_rights(consent, session))
        page = _page(
            "Allow access?",
            is_question=True,
            client=name_of(consent.client),
            redirect_uri=consent.redirect_uri,
            tenant=self.provider.tokens.tenant,
            person=session.name,
            sealed=sealed,
            csrf=self.provider.gate.csrf_token(session),
            scopes=scopes,
            labels=_LABELS,
            preselected=scopes[min(1, len(scopes) - 1)],
            days=DELEGATION_DAYS,
        )
        # browsers apply form-action to where an answer redirects, too
        parts = urlsplit(consent.redirect_uri)
        page.headers["Content-Security-Policy"] = _content_policy(f"'self' {parts.scheme}://{parts.netloc}")
        return page


def _sign_in_page(sealed: str, status: int = 401, problem: str | None = None) -> Response:
    return _page("Sign in", status, problem=problem, is_sign_in=True, sealed=sealed)


def _page(title: str, status: int = 200, **values: Any) -> Response:
    html = _template().render(title=title, style=_STYLE, **values)
    return HTMLResponse(html, status, headers={**_HEADERS, "Content-Security-Policy": _content_policy("'self'")})


def _content_policy(form_targets: str) -> str:
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action {form_targets}; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


@cache
def _template() -> jinja2.Template:
    text = Path(__file__).with_name("consent.html").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def _token_in(link: str) -> str:
    """The token of a pasted sign-in link, or the text itself."""
    return parse_qs(urlsplit(link.strip()).query).get("token", [link.strip()])[0]
