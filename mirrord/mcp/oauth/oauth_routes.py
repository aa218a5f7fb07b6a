"""The endpoints of the authorization server: the SDK's, with what they lack, and the pages for consent."""

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, urlsplit

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.routes import (
    AUTHORIZATION_PATH,
    REGISTRATION_PATH,
    REVOCATION_PATH,
    TOKEN_PATH,
    build_metadata,
    cors_middleware,
    create_auth_routes,
    create_protected_resource_routes,
)
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from pydantic import AnyHttpUrl, TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mirrord.auth.delegations import TokenMaker, store_of
from mirrord.auth.sign_in import Gate
from mirrord.auth.signed_tokens import Keyring, signing_key
from mirrord.config import Config
from mirrord.errors import UserError
from mirrord.mcp.admission import Tenant
from mirrord.mcp.oauth.client_documents import ClientDocuments
from mirrord.mcp.oauth.client_registry import MAX_REGISTRATION_BYTES, ClientRegistry
from mirrord.mcp.oauth.consent_pages import SIGN_IN_PATH, ConsentPages
from mirrord.mcp.oauth.provider import CONSENT_PATH, SCOPES, Provider

MAX_FORM_BYTES = 64 << 10  # of a request to any of these endpoints
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
_METADATA_PATH = "/.well-known/oauth-authorization-server"
_OPTIONS = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
_URL = TypeAdapter(AnyHttpUrl, config={"url_preserve_empty_path": True})
_NO_STORE = {"Cache-Control": "no-store"}

Endpoint = Callable[[Request], Awaitable[Response]]


def create_provider(config: Config, tenant: Tenant, url: str) -> Provider:
    """The authorization server of *tenant* at *url*. Raises UserError for a URL that clients would refuse."""
    keyring = Keyring(config.mirror)
    delegations = store_of(config.data, tenant.id, keyring)
    return Provider(
        url=check_origin(url),
        gate=Gate(config.data),
        clients=ClientRegistry(delegations.directory.with_name("clients"), delegations),
        delegations=delegations,
        tokens=TokenMaker(signing_key(config.data, keyring, config.signing), tenant.name, tenant.id),
        documents=ClientDocuments() if config.agents.client_documents else None,
    )


def check_origin(url: str) -> str:
    """*url* as an origin: scheme, name and port. Raises UserError for others, and for http beyond loopback."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK_HOSTS)
    if not is_secure or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment or "@" in url:
        raise UserError(f"{url!r} is no address for OAuth; write for instance https://pages.example, without a path.")
    return str(_URL.validate_python(f"{parts.scheme}://{parts.netloc.lower()}"))


def create_routes(provider: Provider) -> list[Route]:
    """All endpoints of the authorization server, and the metadata of the resource."""
    issuer = _URL.validate_python(provider.url)
    pages = ConsentPages(provider)
    own_routes = [
        *create_protected_resource_routes(_URL.validate_python(provider.resource), [issuer], SCOPES, "mirrord"),
        _metadata_route(issuer, knows_documents=provider.documents is not None),
        Route(AUTHORIZATION_PATH, _without_redirects(provider), methods=["GET", "POST"]),
        Route(REVOCATION_PATH, cors_middleware(_revocation(provider), ["POST", "OPTIONS"]), methods=["POST"]),
        Route(CONSENT_PATH, pages.show, methods=["GET"]),
        Route(CONSENT_PATH, pages.answer, methods=["POST"]),
        Route(SIGN_IN_PATH, pages.sign_in, methods=["POST"]),
    ]
    sdk_routes = {route.path: route for route in create_auth_routes(provider, issuer, None, _OPTIONS)}
    registration, token = sdk_routes[REGISTRATION_PATH], sdk_routes[TOKEN_PATH]
    registration.app = _RateLimited(RequestBodyLimitMiddleware(registration.app, MAX_REGISTRATION_BYTES), provider)
    for route in (*own_routes, token):
        route.app = RequestBodyLimitMiddleware(route.app, MAX_FORM_BYTES)
    return [*own_routes, token, registration]


def _metadata_route(issuer: AnyHttpUrl, *, knows_documents: bool) -> Route:
    """The metadata of the SDK, with the public clients that its endpoints accept, and clients with documents."""
    metadata = build_metadata(issuer, None, _OPTIONS, RevocationOptions(enabled=True))
    methods = ["none", *(metadata.token_endpoint_auth_methods_supported or ())]
    metadata.token_endpoint_auth_methods_supported = methods
    metadata.revocation_endpoint_auth_methods_supported = methods
    metadata.client_id_metadata_document_supported = knows_documents or None
    handler = cors_middleware(MetadataHandler(metadata).handle, ["GET", "OPTIONS"])
    return Route(_METADATA_PATH, handler, methods=["GET", "OPTIONS"])


def _without_redirects(provider: Provider) -> Endpoint:
    """
    The SDK's endpoint, which leads only to the page for consent.

    It would send errors to the redirect URI at once. Anyone may register one, so links to this server would lead
    anywhere; the error is shown instead.
    """
    handler = AuthorizationHandler(provider)

    async def authorize(request: Request) -> Response:
        response = await handler.handle(request)
        location = response.headers.get("location")
        if location is None or location.startswith(f"{provider.url}{CONSENT_PATH}?"):
            return response
        answer = dict(parse_qsl(urlsplit(location).query))
        return JSONResponse({key: answer.get(key) for key in ("error", "error_description")}, 400, _NO_STORE)

    return authorize


def _revocation(provider: Provider) -> Endpoint:
    """RFC 7009, as the SDK has it, but also for clients without a secret."""
    authenticator = ClientAuthenticator(provider)

    async def revoke(request: Request) -> Response:
        try:
            client = await authenticator.authenticate_request(request)
        except AuthenticationError as error:
            return JSONResponse({"error": "invalid_client", "error_description": error.message}, 401, _NO_STORE)
        text = str((await request.form()).get("token", ""))
        token = await provider.load_refresh_token(client, text) or await provider.load_access_token(text)
        if token is not None and token.client_id == client.client_id:
            await provider.revoke_token(token)
        return Response(headers=_NO_STORE)

    return revoke


class _RateLimited:
    """The registration endpoint, for a few clients a minute."""

    def __init__(self, app: ASGIApp, provider: Provider) -> None:
        self._app, self._clients = app, provider.clients

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Register a client, or refuse it."""
        if scope["method"] == "POST" and not self._clients.allows_registration():
            refusal = JSONResponse(
                {"error": "temporarily_unavailable", "error_description": "Too many clients register; try later."},
                429,
                {**_NO_STORE, "Retry-After": "60"},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
