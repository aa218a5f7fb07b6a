"""Requests as files: what they say comes back, what is none is refused, and no row meets what it cannot hold."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.domain.approval import (
    Answer,
    InputFile,
    Request,
    RequestState,
    decode_request,
    encode_request,
    to_storable,
)
from mirrord.domain.entry import Actor, TenantId, digest_of, new_id
from mirrord.domain.scope import parse_scope
from mirrord.markdown.frontmatter.record_text import check_storable
from tests.support.laws import scale_examples

TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)
PLACES = st.none() | TEXT.map("/{}".format)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
DIGESTS = st.sampled_from(["", "00" * 32])
REQUEST = Request(
    *(new_id(), "delete_page", {"path": "A.md"}, {}, {"A.md": "00" * 32}, TenantId(new_id()), Actor("agent", "local")),
    *("secret", datetime.now(UTC)),
)


NEAR = {"name": "x", "digest": "00" * 32, "place": "x"}


@settings(max_examples=scale_examples(40))
@given(
    arguments=OBJECTS,
    inputs=st.dictionaries(
        TEXT, st.builds(lambda name, place: InputFile(name, digest_of(b""), place), TEXT, PLACES), max_size=2
    ),
    bases=st.dictionaries(TEXT, DIGESTS, max_size=3),
    moment=MOMENTS,
    answer=st.builds(
        Answer,
        state=st.just(RequestState.PENDING),
        expires_at=st.none() | MOMENTS,
        preview=st.none() | OBJECTS,
        result=st.none() | OBJECTS,
        failure=st.none() | OBJECTS,
        delivered_at=st.none() | MOMENTS,
    ),
)
def test_what_a_request_says_comes_back(
    arguments: dict[str, object], inputs: dict[str, InputFile], bases: dict[str, str], moment: datetime, answer: Answer
) -> None:
    request = replace(REQUEST, arguments=arguments, inputs=inputs, bases=bases, requested_at=moment)

    assert decode_request(encode_request(request, answer)) == (request, answer)


def test_a_request_within_a_scope_says_so_and_is_none_for_those_who_know_no_scopes() -> None:
    scope = parse_scope(["Inbox/**"], ["Projects"], ["Inbox/Private"])
    request = replace(REQUEST, scope=scope)
    data = encode_request(request, Answer())

    assert decode_request(data) == (request, Answer())
    assert "arguments" not in json.loads(data)
    assert (
        len({REQUEST.fingerprint, request.fingerprint, replace(request, scope=parse_scope(["Inbox"])).fingerprint}) == 3
    )
    assert request.digest != REQUEST.digest
    for paths in ({"own": ["Inbox"]}, {"write": "Inbox"}, {"write": ["/"]}, {"write": [1]}, ["Inbox"]):
        with pytest.raises(ValueError, match="of the wrong kind"):
            decode_request(json.dumps({**json.loads(data), "paths": paths}).encode())
    with pytest.raises(ValueError, match="lacks 'arguments'"):
        decode_request(json.dumps({**json.loads(data), "paths": {}}).encode())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"{}", "lacks 'id'"),
        (
            json.dumps({**json.loads(encode_request(REQUEST, Answer())), "state": "done"}).encode(),
            "a value of the wrong kind",
        ),
        (
            json.dumps({**json.loads(encode_request(REQUEST, Answer())), "bases": {"A": 1}}).encode(),
            "of the wrong kind",
        ),
        (
            json.dumps({**json.loads(encode_request(REQUEST, Answer())), "bases": {"A": "zz"}}).encode(),
            "of the wrong kind",
        ),
        (
            json.dumps({**json.loads(encode_request(REQUEST, Answer())), "token": "\ud800"}).encode(),
            "half of a surrogate pair",
        ),
        (
            json.dumps(
                {**json.loads(encode_request(REQUEST, Answer())), "requested_at": "0001-01-01T00:00:00Z"}
            ).encode(),
            "of the wrong kind",
        ),
        (
            json.dumps({**json.loads(encode_request(REQUEST, Answer())), "inputs": {"path": NEAR}}).encode(),
            "of the wrong kind",
        ),
    ],
)
def test_what_is_no_request_is_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decode_request(data)


def test_the_same_call_has_the_same_fingerprint_and_whatever_a_person_decides_about_is_in_the_digest() -> None:
    later = replace(REQUEST, id=new_id(), token=None, requested_at=datetime.now(UTC))
    assert later.fingerprint == REQUEST.fingerprint
    assert later.digest != REQUEST.digest
    changes: list[dict[str, Any]] = [
        {"command": "move_page"},
        {"arguments": {"path": "B.md"}},
        {"bases": {}},
        {"inputs": {"path": InputFile("x", digest_of(b"x"))}},
        {"actor": Actor("human", "local")},
        {"tenant_id": TenantId(new_id())},
    ]
    staged = replace(REQUEST, inputs={"path": InputFile("x", digest_of(b"x"))})
    linked = replace(REQUEST, inputs={"path": InputFile("x", digest_of(b"x"), "/x")})
    assert staged.digest != linked.digest
    for changed in changes:
        assert replace(REQUEST, **changed).digest != REQUEST.digest
    assert replace(REQUEST, token=None).digest == REQUEST.digest


@settings(max_examples=scale_examples(40))
@given(st.dictionaries(st.text(max_size=4) | st.just("\0"), JSON | st.just("\ud800\0")))
def test_whatever_a_preview_shows_a_row_can_hold(facts: dict[str, object]) -> None:
    check_storable(to_storable(facts))
