"""The authorization server behind the SDK's endpoints: consent first, codes once, refresh tokens in turn."""

import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from mirrord.auth import signed_tokens
from mirrord.auth.access_grant import REVIEW_SCOPE, Grant, Rights
from mirrord.auth.delegations import Delegation, DelegationStore, TokenMaker
from mirrord.auth.sign_in import Gate, Session
from mirrord.errors import Refused
from mirrord.mcp.oauth.authorization_codes import AuthorizationCodes
from mirrord.mcp.oauth.client_documents import ClientDocuments, is_document_url
from mirrord.mcp.oauth.client_registry import ClientRegistry, name_of

SCOPES = ["read", "write", REVIEW_SCOPE]
CONSENT_PATH = "/consent"
RESOURCE_PATH = "/mcp"
CONSENT_SECONDS = 600  # seconds in which a person answers
MAX_STATE_CHARACTERS = 1_500  # it travels in URLs
_PURPOSE = "oauth-request"
_CHALLENGE_PATTERN = re.compile("[A-Za-z0-9_-]{43}")  # SHA-256 in base64url


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """What a client asks a person for. id: of this request. scopes: those it asks for; state: its own, sent back."""

    id: str
    client: OAuthClientInformationFull
    redirect_uri: str
    is_explicit: bool
    challenge: str
    scopes: tuple[str, ...]
    state: str | None


@dataclass(frozen=True, slots=True)
class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """
    The authorization server of one tenant, as the SDK asks for it.

    url: the public origin, which is the issuer. gate: knows who is signed in. documents: of clients that are named by
    the URL of one; None: such clients are unknown.
    """

    url: str
    gate: Gate
    clients: ClientRegistry
    delegations: DelegationStore
    tokens: TokenMaker
    codes: AuthorizationCodes = field(default_factory=AuthorizationCodes)
    documents: ClientDocuments | None = None

    @property
    def resource(self) -> str:
        """The server that tokens are for: their audience."""
        return self.url + RESOURCE_PATH

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """The registered client, or that of a document."""
        if self.documents is not None and is_document_url(client_id):
            return await self.documents.find(client_id)
        return self.clients.find(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Remember a client. Raises RegistrationError."""
        self.clients.add(client_info)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The URL of the page that asks a person. Raises AuthorizeError, `invalid_target` for another server."""
        if params.resource is not None and params.resource.rstrip("/") not in (self.resource, self.url):
            raise AuthorizeError("invalid_target", f"This server gives access to {self.resource} only.")
        if len(params.state or "") > MAX_STATE_CHARACTERS:
            raise AuthorizeError("invalid_request", f"The state has more than {MAX_STATE_CHARACTERS} characters.")
        if not _CHALLENGE_PATTERN.fullmatch(params.code_challenge):
            raise AuthorizeError("invalid_request", "The code_challenge is no SHA-256 in base64url.")
        facts = {
            "id": secrets.token_hex(8),
            "client": client.client_id,
            "redirect_uri": str(params.redirect_uri),
            "is_explicit": "yes" if params.redirect_uri_provided_explicitly else None,
            "challenge": params.code_challenge,
            "scopes": " ".join(params.scopes or SCOPES),
            "state": params.state,
            "issuer": self.url,
        }
        sealed = self.gate.seal(_PURPOSE, facts, CONSENT_SECONDS)
        return f"{self.url}{CONSENT_PATH}?request={sealed}"

    def open_request(self, sealed: str) -> ConsentRequest | None:
        """What authorize() sealed; None: expired, changed, of another server, or of a client that is forgotten."""
        facts = self.gate.open(_PURPOSE, sealed)
        if facts is None or facts["issuer"] != self.url:
            return None
        client_id = facts["client"] or ""
        documented = self.documents.remembered(client_id) if self.documents is not None else None
        client = documented or self.clients.find(client_id)
        if client is None:
            return None
        return ConsentRequest(
            id=facts["id"] or "",
            client=client,
            redirect_uri=facts["redirect_uri"] or "",
            is_explicit=facts["is_explicit"] is not None,
            challenge=facts["challenge"] or "",
            scopes=tuple((facts["scopes"] or "").split()),
            state=facts["state"],
        )

    def allow(self, request: ConsentRequest, session: Session, rights: Rights) -> str:
        """The URL that takes a code to the client, after a person's consent."""
        code = AuthorizationCode(
            code="",
            scopes=rights.scope.split(),
            expires_at=0,
            client_id=request.client.client_id,
            code_challenge=request.challenge,
            redirect_uri=AnyUrl(request.redirect_uri),
            redirect_uri_provided_explicitly=request.is_explicit,
            resource=self.resource,
        )
        text = self.codes.issue(code, rights, session.name)
        return construct_redirect_uri(request.redirect_uri, code=text, state=request.state, iss=self.url)

    def deny(self, request: ConsentRequest) -> str:
        """The URL that tells the client of a person's refusal."""
        return construct_redirect_uri(request.redirect_uri, error="access_denied", state=request.state, iss=self.url)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """The unused code. A code that comes twice was stolen: what it was exchanged for is revoked."""
        issued = self.codes.find(authorization_code)
        if issued is None:
            return None
        if issued.delegation is not None:
            self.delegations.revoke(issued.delegation)
            return None
        if issued.code.client_id != client.client_id:
            return None
        return issued.code.model_copy(update={"code": authorization_code})

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Use a code up. Raises TokenError if it was used meanwhile."""
        issued = self.codes.find(authorization_code.code)
        if issued is None or issued.delegation is not None:
            raise TokenError("invalid_grant", "authorization code does not exist")
        actor = f"{name_of(client)} for {issued.person}"
        delegation = self.delegations.create(client.client_id, issued.person, actor, issued.rights, self.resource)
        issued.delegation = delegation.id
        return self._answer(delegation, with_refresh="refresh_token" in client.grant_types)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """The refresh token, if it is the valid one of *client*; a used one ends its delegation."""
        delegation = self.delegations.find_by_refresh_token(refresh_token, client.client_id)
        if delegation is None:
            return None
        return RefreshToken(
            token=refresh_token,
            client_id=client.client_id,
            scopes=delegation.rights.scope.split(),
            expires_at=delegation.expires,
            resource=delegation.audience,
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Use a refresh token up. Raises TokenError: all tokens of a delegation have the same scopes."""
        if set(scopes) != set(refresh_token.scopes):
            raise TokenError("invalid_scope", "ask a person again for other scopes")
        delegation = self.delegations.rotate(refresh_token.token, client.client_id)
        if delegation is None:
            raise TokenError("invalid_grant", "refresh token does not exist")
        return self._answer(delegation, with_refresh=True)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """An access token of a delegation."""
        try:
            grant = signed_tokens.verify_token(self.delegations.keyring, token, self.resource)
        except Refused:
            return None
        delegation = self.delegations.find(grant.token)
        if delegation is None:
            return None
        return AccessToken(
            token=token, client_id=delegation.client, scopes=delegation.rights.scope.split(), resource=self.resource
        )

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """End the delegation of a token, with all its tokens."""
        if isinstance(token, RefreshToken):
            self.delegations.revoke(token.token.partition(".")[0])
            return
        grant = signed_tokens.verify_token(self.delegations.keyring, token.token, self.resource)
        self.delegations.revoke(grant.token)

    def lasting_grant(self, grant: Grant) -> tuple[Grant, str]:
        """The grant of an access token, for as long as its delegation, and the token for requests. Raises Refused."""
        delegation = self.delegations.find(grant.token)
        if delegation is None:
            raise Refused("The delegation was revoked.")
        expires = datetime.fromtimestamp(delegation.expires, UTC)
        return replace(grant, expires=expires), self.tokens.request_token(delegation)

    def _answer(self, delegation: Delegation, *, with_refresh: bool) -> OAuthToken:
        token, seconds = self.tokens.access_token(delegation)
        return OAuthToken(
            access_token=token,
            expires_in=seconds,
            scope=delegation.rights.scope,
            refresh_token=delegation.refresh_token if with_refresh else None,
        )


def offered_rights(scopes: tuple[str, ...]) -> dict[str, Rights]:
    """What a person may choose from for a client that asks for *scopes*: that, and less."""
    rights = {"read": Rights(may_write=False)}
    if {"write", REVIEW_SCOPE} & set(scopes):
        rights[REVIEW_SCOPE] = Rights(is_reviewed=True)
    if "write" in scopes:
        rights["write"] = Rights()
    return rights
