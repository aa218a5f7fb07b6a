"""Approvals: a command that waits for a person, what it would do, and what became of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from mirrord.domain.entry import Actor, Digest, TenantId, digest_of
from mirrord.domain.place import RECORDS

FOLDER = f"{RECORDS}/approvals"  # one file a request
MOST_LINES = 40  # of a preview
LIFETIME = timedelta(days=7)  # of a request nobody decides about
ABSENT = ""  # in place of a digest: at that path there must be nothing


@dataclass(frozen=True, slots=True)
class Preview:
    """
    What a command would do, computed without doing it.

    summary: one sentence in the future tense. facts: counts and values, JSON; they are told to whoever asked.
    lines: a diff, or the first rows, at most MOST_LINES.
    bases: by path the digest, in hex, of every file the decision depends on, ABSENT where there must be none: if one
        differs when the command is to run, it does not run.
    """

    summary: str
    facts: Mapping[str, object] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    bases: Mapping[str, str] = field(default_factory=dict)


def as_facts(preview: Preview) -> Mapping[str, object]:
    """What a preview tells, as JSON; without what it depends on."""
    return {"summary": preview.summary, "lines": list(preview.lines), "facts": dict(preview.facts)}


def storable(facts: Mapping[str, object]) -> dict[str, Any]:
    """The same as JSON, with others in place of characters that no row can hold: they come from anybody's files."""
    found: dict[str, Any] = json.loads(json.dumps(facts, default=str), object_hook=_clean_object)
    return found


def _clean_object(found: dict[str, object]) -> dict[str, object]:
    return {_clean_text(key): _clean(value) for key, value in found.items()}


def _clean(value: object) -> object:
    if isinstance(value, list):
        return [_clean(one) for one in value]
    return _clean_text(value) if isinstance(value, str) else value


def _clean_text(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


class State(StrEnum):
    """What became of a request; each only from the one before, and nothing follows on the last four."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXECUTED = "executed"
    FAILED = "failed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Input:
    """
    A file from outside the tree, as it was when it was asked for.

    name: what it was called. place: where it was, absolute; None: that was not kept.
    """

    name: str
    digest: Digest
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """
    A command somebody asked for, as its file says; nothing of it ever changes.

    arguments: JSON, snake_case keys. inputs: by argument. bases: as Preview's, by what its asker saw.
    token: what its asker showed; None: trusted locally.
    """

    id: UUID
    command: str
    arguments: Mapping[str, object]
    inputs: Mapping[str, Input]
    bases: Mapping[str, str]
    tenant_id: TenantId
    actor: Actor
    token: str | None
    requested_at: datetime

    @property
    def fingerprint(self) -> Digest:
        """Equal for the same call of the same actor, whenever it is made."""
        return _digest([str(self.tenant_id), *_names(self.actor), self.command, dict(self.arguments)])

    @property
    def digest(self) -> Digest:
        """Of all that a person decides about."""
        inputs = {name: list(input_facts(one).values()) for name, one in self.inputs.items()}
        return _digest([str(self.id), self.fingerprint.hex(), inputs, dict(self.bases)])


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What became of a request, as its file tells; Postgres knows better.

    preview: summary, lines and facts, for who asked. result: what the command answered, as JSON; None unless it was
    executed. failure: code, kind, sentence, instruction and facts of why not; None unless it was not.
    delivered_at: when its asker was told.
    """

    state: State = State.PENDING
    expires_at: datetime | None = None
    preview: Mapping[str, object] | None = None
    result: Mapping[str, object] | None = None
    failure: Mapping[str, object] | None = None
    delivered_at: datetime | None = None


def encode(request: Request, answer: Answer) -> bytes:
    """The whole of a request's file. The token is there only as long as somebody has to verify it."""
    facts: dict[str, object] = {
        "id": str(request.id),
        "command": request.command,
        "arguments": dict(request.arguments),
        "inputs": {key: input_facts(one) for key, one in request.inputs.items()},
        "bases": dict(request.bases),
        "tenant_id": str(request.tenant_id),
        "actor": {"kind": request.actor.kind, "name": request.actor.name},
        "token": request.token if answer.state is State.PENDING else None,
        "requested_at": request.requested_at.isoformat(),
        "state": answer.state,
        "expires_at": _text(answer.expires_at),
        "preview": answer.preview,
        "result": answer.result,
        "failure": answer.failure,
        "delivered_at": _text(answer.delivered_at),
    }
    kept = {key: value for key, value in facts.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, indent=2).encode() + b"\n"


def decode(data: bytes) -> tuple[Request, Answer]:
    """
    What a request's file says.

    Raises:
        ValueError: it is no request; the message says why, to follow the file's name.
    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(raw, dict):
        raise ValueError("is not a JSON object")
    try:
        return _request(raw), _answer(raw)
    except KeyError as missing:
        raise ValueError(f"lacks {missing}") from None
    except (TypeError, AttributeError, ValueError):
        raise ValueError("has a value of the wrong kind") from None


def _request(raw: Mapping[str, object]) -> Request:
    return Request(
        id=UUID(_str(raw["id"])),
        command=_str(raw["command"]),
        arguments=_object(raw["arguments"]),
        inputs={name: input_of(_object(one)) for name, one in _object(raw["inputs"]).items()},
        bases={path: _str(digest) for path, digest in _object(raw["bases"]).items()},
        tenant_id=TenantId(UUID(_str(raw["tenant_id"]))),
        actor=_actor(_object(raw["actor"])),
        token=_str(raw["token"]) if raw.get("token") is not None else None,
        requested_at=_moment(raw["requested_at"]),
    )


def _answer(raw: Mapping[str, object]) -> Answer:
    preview, result, failure = raw.get("preview"), raw.get("result"), raw.get("failure")
    return Answer(
        state=State(_str(raw["state"])),
        expires_at=_moment(raw["expires_at"]) if "expires_at" in raw else None,
        preview=_object(preview) if preview is not None else None,
        result=_object(result) if result is not None else None,
        failure=_object(failure) if failure is not None else None,
        delivered_at=_moment(raw["delivered_at"]) if "delivered_at" in raw else None,
    )


def input_facts(one: Input) -> dict[str, str]:
    """An input as JSON."""
    facts = {"name": one.name, "digest": one.digest.hex()}
    return facts if one.place is None else {**facts, "place": one.place}


def input_of(raw: Mapping[str, object]) -> Input:
    """The input that such JSON tells of. Raises KeyError, TypeError, ValueError for any other."""
    digest = bytes.fromhex(_str(raw["digest"]))
    place = _str(raw["place"]) if "place" in raw else None
    if len(digest) != 32 or (place is not None and not place.startswith("/")):
        raise ValueError
    return Input(_str(raw["name"]), Digest(digest), place)


def _actor(raw: Mapping[str, object]) -> Actor:
    return Actor(_str(raw["kind"]), _str(raw["name"]))


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(_str(value))
    if moment.tzinfo is None:
        raise ValueError
    return moment


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _names(actor: Actor) -> tuple[str, str]:
    return actor.kind, actor.name


def _digest(value: object) -> Digest:
    return digest_of(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
