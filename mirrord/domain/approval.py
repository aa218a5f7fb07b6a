"""Approvals: a command that waits for a person, what it would do, and its outcome."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from mirrord.domain.entry import Actor, Digest, TenantId, digest_of
from mirrord.domain.place import RECORDS
from mirrord.domain.review import ChangePreview
from mirrord.domain.scope import UNLIMITED, Scope, scope_of_claims
from mirrord.errors import UserError

_HALVES = re.compile("[\ud800-\udfff]")
APPROVALS_FOLDER = f"{RECORDS}/approvals"  # one file for each request
MAX_PREVIEW_LINES = 40  # of a preview
REQUEST_LIFETIME = timedelta(days=7)  # of a request without a decision
MIN_DELETIONS = 25  # at once, of which more may wait for a person
DIGEST_BYTES = 32
MIN_YEAR, MAX_YEAR = 1970, 9000  # of moments: rows give back no year before 1, or after 9999, in any time zone
MAX_DEPTH = 200  # of the JSON in a request's file
ABSENT_DIGEST = ""  # in place of a digest: there must be no file at that path


@dataclass(frozen=True, slots=True)
class Preview:
    """
    The effect of a command, computed without running it.

    summary: one sentence in the future tense. facts: counts and values as JSON, sent to the requester.
    lines: a diff, or the first rows, at most MOST_LINES.
    bases: by path the digest, in hex, of every file the decision depends on, ABSENT where there must be none: if one
        differs when the command is to run, it does not run.
    changes: of a change set, for the person alone, who may accept a part of them.
    """

    summary: str
    facts: Mapping[str, object] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    bases: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[ChangePreview, ...] = ()


def preview_facts(preview: Preview) -> Mapping[str, object]:
    """A preview as JSON, without its bases and changes."""
    return {"summary": preview.summary, "lines": list(preview.lines), "facts": dict(preview.facts)}


def to_storable(facts: Mapping[str, object]) -> dict[str, Any]:
    """*facts* as JSON that a row can hold: characters from foreign files that it cannot hold are replaced."""
    facts_as_json: dict[str, Any] = json.loads(json.dumps(facts, default=str), object_hook=_clean_object)
    return facts_as_json


def _clean_object(members: dict[str, object]) -> dict[str, object]:
    return {_clean_text(key): _clean(value) for key, value in members.items()}


def _clean(value: object) -> object:
    if isinstance(value, list):
        return [_clean(element) for element in value]
    return _clean_text(value) if isinstance(value, str) else value


def _clean_text(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


class RequestState(StrEnum):
    """The state of a request. PENDING becomes APPROVED or final; APPROVED becomes final; the last four are final."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXECUTED = "executed"
    FAILED = "failed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class InputFile:
    """
    A file from outside the tree, as it was at the time of the request.

    name: its file name. place: its absolute path; None: not recorded.
    """

    name: str
    digest: Digest
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """
    A requested command as stored in its file; it never changes.

    arguments: JSON, snake_case keys. inputs: by argument. bases: as in Preview, in the state the requester saw.
    token: of the requester; None: trusted locally. scope: what the requester sees and may write.
    """

    id: UUID
    command: str
    arguments: Mapping[str, object]
    inputs: Mapping[str, InputFile]
    bases: Mapping[str, str]
    tenant_id: TenantId
    actor: Actor
    token: str | None
    requested_at: datetime
    scope: Scope = UNLIMITED

    @property
    def fingerprint(self) -> Digest:
        """Equal for the same call by the same actor within the same scope, regardless of the time."""
        limits = [] if self.scope.is_unlimited else [self.scope.to_claims()]
        call = [str(self.tenant_id), *_parts_of(self.actor), self.command, dict(self.arguments)]
        return _digest_of_json([*call, *limits])

    @property
    def digest(self) -> Digest:
        """The digest of everything a person decides on."""
        inputs = {name: list(input_facts(file).values()) for name, file in self.inputs.items()}
        return _digest_of_json([str(self.id), self.fingerprint.hex(), inputs, dict(self.bases)])


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The outcome of a request as stored in its file; the row in Postgres is authoritative.

    preview: summary, lines and facts, for the requester. result: of the executed command, as JSON; else None.
    failure: code, kind, sentence, instruction and facts of a failed command; else None.
    delivered_at: when the requester received the outcome.
    """

    state: RequestState = RequestState.PENDING
    expires_at: datetime | None = None
    preview: Mapping[str, object] | None = None
    result: Mapping[str, object] | None = None
    failure: Mapping[str, object] | None = None
    delivered_at: datetime | None = None


def encode_request(request: Request, answer: Answer) -> bytes:
    """The content of a request's file. The token is included only while it still has to be verified."""
    facts: dict[str, object] = {
        "id": str(request.id),
        "command": request.command,
        **_call_facts(request),
        "inputs": {key: input_facts(file) for key, file in request.inputs.items()},
        "bases": dict(request.bases),
        "tenant_id": str(request.tenant_id),
        "actor": {"kind": request.actor.kind, "name": request.actor.name},
        "token": request.token if answer.state is RequestState.PENDING else None,
        "requested_at": request.requested_at.isoformat(),
        "state": answer.state,
        "expires_at": _write_moment(answer.expires_at),
        "preview": answer.preview,
        "result": answer.result,
        "failure": answer.failure,
        "delivered_at": _write_moment(answer.delivered_at),
    }
    present = {key: value for key, value in facts.items() if value is not None}
    return json.dumps(present, ensure_ascii=False, indent=2).encode() + b"\n"


def _call_facts(request: Request) -> dict[str, object]:
    """The arguments; within a scope under another key, so that a daemon from before passes the request over."""
    if request.scope.is_unlimited:
        return {"arguments": dict(request.arguments)}
    return {"scoped_arguments": dict(request.arguments), "paths": request.scope.to_claims()}


def decode_request(data: bytes) -> tuple[Request, Answer]:
    """
    The request and answer in a request's file.

    Raises:
        ValueError: it is no request; the message says why and continues the file's name.
    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(raw, dict):
        raise ValueError("is not a JSON object")
    _check_writable(raw)
    try:
        return _read_request(raw), _read_answer(raw)
    except KeyError as missing:
        raise ValueError(f"lacks {missing}") from None
    except (TypeError, AttributeError, ValueError, UserError):
        raise ValueError("has a value of the wrong kind") from None


def _check_writable(raw: object) -> None:
    """Raises ValueError for what encode_request() could not write again: its reader could answer nothing."""
    pending: list[tuple[object, int]] = [(raw, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"is nested deeper than {MAX_DEPTH}")
        if isinstance(value, dict):
            pending += [(each, depth + 1) for pair in value.items() for each in pair]
        elif isinstance(value, list):
            pending += [(each, depth + 1) for each in value]
        elif isinstance(value, str) and _HALVES.search(value) is not None:
            raise ValueError("holds a character that no text can hold (half of a surrogate pair)")


def _read_request(raw: Mapping[str, object]) -> Request:
    scope = _read_scope(raw)
    return Request(
        id=UUID(_require_str(raw["id"])),
        command=_require_str(raw["command"]),
        arguments=_require_object(raw["arguments" if scope.is_unlimited else "scoped_arguments"]),
        inputs={
            name: input_of(_require_object(raw_input)) for name, raw_input in _require_object(raw["inputs"]).items()
        },
        bases={path: _read_base(digest) for path, digest in _require_object(raw["bases"]).items()},
        tenant_id=TenantId(UUID(_require_str(raw["tenant_id"]))),
        actor=_read_actor(_require_object(raw["actor"])),
        token=_require_str(raw["token"]) if raw.get("token") is not None else None,
        requested_at=_read_moment(raw["requested_at"]),
        scope=scope,
    )


def _read_scope(raw: Mapping[str, object]) -> Scope:
    claims = _require_object(raw["paths"]) if "paths" in raw else {}
    return scope_of_claims({kind: _require_texts(patterns) for kind, patterns in claims.items()})


def _read_answer(raw: Mapping[str, object]) -> Answer:
    preview, result, failure = raw.get("preview"), raw.get("result"), raw.get("failure")
    return Answer(
        state=RequestState(_require_str(raw["state"])),
        expires_at=_read_moment(raw["expires_at"]) if "expires_at" in raw else None,
        preview=_require_object(preview) if preview is not None else None,
        result=_require_object(result) if result is not None else None,
        failure=_require_object(failure) if failure is not None else None,
        delivered_at=_read_moment(raw["delivered_at"]) if "delivered_at" in raw else None,
    )


def input_facts(file: InputFile) -> dict[str, str]:
    """An input as JSON."""
    facts = {"name": file.name, "digest": file.digest.hex()}
    return facts if file.place is None else {**facts, "place": file.place}


def input_of(raw: Mapping[str, object]) -> InputFile:
    """The input in such JSON. Raises KeyError, TypeError, ValueError for any other JSON."""
    digest = bytes.fromhex(_require_str(raw["digest"]))
    place = _require_str(raw["place"]) if "place" in raw else None
    if len(digest) != DIGEST_BYTES or (place is not None and not place.startswith("/")):
        raise ValueError
    return InputFile(_require_str(raw["name"]), Digest(digest), place)


def _read_actor(raw: Mapping[str, object]) -> Actor:
    return Actor(_require_str(raw["kind"]), _require_str(raw["name"]))


def _read_base(value: object) -> str:
    text = _require_str(value)
    if text != ABSENT_DIGEST and len(bytes.fromhex(text)) != DIGEST_BYTES:
        raise ValueError
    return text


def _require_str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _require_object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _require_texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_require_str(text) for text in value]


def _read_moment(value: object) -> datetime:
    moment = datetime.fromisoformat(_require_str(value))
    if moment.tzinfo is None or not MIN_YEAR <= moment.year <= MAX_YEAR:
        raise ValueError
    return moment


def _write_moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _parts_of(actor: Actor) -> tuple[str, str]:
    return actor.kind, actor.name


def _digest_of_json(value: object) -> Digest:
    return digest_of(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
