"""Tokens of an authorization server elsewhere: who shows one is a person that the operator's table lists."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from mcp.server.auth.routes import create_protected_resource_routes
from pydantic import AnyHttpUrl, TypeAdapter
from starlette.routing import Route

from mirrord.auth.access_grant import Grant, Rights
from mirrord.auth.delegations import Delegation, DelegationStore, TokenMaker, store_of
from mirrord.auth.issuer.issuer_keys import IssuerKeys, check_issuer_url
from mirrord.auth.issuer.issuer_settings import Issuer
from mirrord.auth.signed_tokens import Keyring, signing_key
from mirrord.config import Config
from mirrord.domain.entry import Actor, digest_of
from mirrord.errors import Refused, UserError
from mirrord.mcp.admission import Tenant
from mirrord.mcp.oauth.oauth_routes import check_origin
from mirrord.mcp.oauth.provider import RESOURCE_PATH

ACCESS_DAYS = 3650  # until then a person is listed with access; a token of the issuer is needed for each request
MAX_CHARACTERS = 16_384  # of a token
_MAX_NAME_CHARACTERS = 60  # of a program or a person in the history
_PROGRAM_CLAIMS = ("client_name", "azp", "client_id")
_RIGHTS = {"read": Rights(may_write=False), "review": Rights(is_reviewed=True), "write": Rights()}


@dataclass(frozen=True, slots=True)
class ExternalIssuer:
    """The issuer of one tenant's server. settings: the operator's."""

    settings: Issuer
    keys: IssuerKeys
    delegations: DelegationStore
    tokens: TokenMaker

    @property
    def url(self) -> str:
        """What its tokens call it."""
        return self.settings.url

    @property
    def resource(self) -> str:
        """The server that tokens have to be for: their audience."""
        return self.settings.resource + RESOURCE_PATH

    def issued(self, token: str) -> bool:
        """Whether *token* says that it is of this issuer; it need not be true."""
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.InvalidTokenError, ValueError):
            return False
        return isinstance(claims, dict) and claims.get("iss") == self.settings.url

    def verify(self, token: str) -> Grant:
        """
        The grant of the person who shows *token*. Raises Refused, and Unavailable while no keys are known.

        It may read the issuer's keys, which takes seconds. What it grants is revoked by the id of a delegation, which
        is the same for each token of one person and program.
        """
        delegation = self._delegation_of(self._claims_of(token))
        return Grant(
            token=delegation.id,
            key=self.settings.url,
            tenant=self.tokens.tenant,
            tenant_id=self.tokens.tenant_id,
            actor=Actor("agent", delegation.actor),
            may_write=delegation.may_write or delegation.is_reviewed,
            expires=datetime.fromtimestamp(delegation.expires, UTC),
            is_reviewed=delegation.is_reviewed,
            audience=self.resource,
        )

    def lasting_grant(self, grant: Grant) -> tuple[Grant, str]:
        """*grant*, and the token for requests, which the daemon knows: the issuer's it does not. Raises Refused."""
        delegation = self.delegations.find(grant.token)
        if delegation is None:
            raise Refused("The token was revoked.")
        return grant, self.tokens.request_token(delegation)

    def _claims_of(self, token: str) -> dict[str, Any]:
        if len(token) > MAX_CHARACTERS:
            raise Refused("The token is too long.")
        return self.keys.verify(token, self.resource)

    def _delegation_of(self, claims: dict[str, Any]) -> Delegation:
        person = claims.get(self.settings.claim)
        if self.settings.claim == "email" and claims.get("email_verified") is False:
            raise Refused("The issuer has not verified that address.")
        if not isinstance(person, str) or person not in self.settings.people:
            raise Refused("That person has no access here.")
        program = next((text for name in _PROGRAM_CLAIMS if isinstance(text := claims.get(name), str) and text), None)
        rights, now = _RIGHTS[self.settings.people[person]], datetime.now(UTC)
        mark = digest_of("\0".join((self.settings.url, person, program or "")).encode()).hex()
        return self.delegations.keep(
            Delegation(
                id=mark[:16],
                client=program or self.settings.url,
                person=person,
                actor=f"{_line_of(program or 'a program')} for {_line_of(person)}",
                may_write=rights.may_write and not rights.is_reviewed,
                is_reviewed=rights.is_reviewed,
                audience=self.resource,
                created=int(now.timestamp()),
                expires=int((now + timedelta(days=ACCESS_DAYS)).timestamp()),
                seed=mark,
            )
        )


def create_issuer(config: Config, tenant: Tenant, settings: Issuer) -> ExternalIssuer:
    """The issuer of *settings* for *tenant*. Raises UserError for URLs that tokens cannot name."""
    if config.agents.oauth is not None:
        raise UserError("People sign in at one place: configure mcp.oauth or mcp.issuer, not both.")
    check_origin(settings.resource)
    keyring = Keyring(config.mirror)
    return ExternalIssuer(
        settings,
        IssuerKeys(check_issuer_url(settings.url), settings.keys),
        store_of(config.data, tenant.id, keyring),
        TokenMaker(signing_key(config.data, keyring, config.signing), tenant.name, tenant.id),
    )


def create_metadata(issuer: ExternalIssuer) -> list[Route]:
    """Where clients learn which issuer gives access to this server."""
    urls = TypeAdapter(AnyHttpUrl, config={"url_preserve_empty_path": True})
    resource, server = urls.validate_python(issuer.resource), urls.validate_python(issuer.url)
    return create_protected_resource_routes(resource, [server], None, "mirrord")


def _line_of(text: str) -> str:
    """*text* as a name in the history: one line, shortened."""
    words = "".join(letter if letter.isprintable() else " " for letter in text).split()
    return " ".join(words)[:_MAX_NAME_CHARACTERS].strip()
