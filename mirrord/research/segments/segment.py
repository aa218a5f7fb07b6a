"""PURE: segments of a page's text, and their JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeGuard

CONTEXT_CHARACTERS = 32  # characters before and after a segment that are stored to find it again
CODE, SPEAKER = "code", "speaker"  # kinds
_KEYS_OF_PLACE = frozenset(
    {"start", "end", "quote", "prefix", "suffix", "detached", "former"}
)  # keys that follow the text


@dataclass(frozen=True, slots=True)
class Wording:
    """The text of a segment, and up to AROUND characters before and after it."""

    quote: str
    prefix: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Segment:
    """
    One span of a page's body: of its text without front matter.

    id: unique within the page. start, end: characters (code points); the segment is `body[start:end]`.
    label: the code, or the speaker's name. kind: CODE, SPEAKER, or a kind of an app.
    created_by: its author, as `kind:name`.
    quote, prefix, suffix: as in Wording; quote None: not known yet, the text at the place counts.
    detached: its text is no longer on the page; start and end are its last place.
    former: its wording before an edit within it, until that wording is restored.
    others: further keys of its JSON, which belong to apps.
    """

    id: str
    start: int
    end: int
    label: str
    kind: str
    created_by: str
    quote: str | None = None
    prefix: str = ""
    suffix: str = ""
    detached: bool = False
    former: Wording | None = None
    others: Mapping[str, object] = field(default_factory=dict)


def actor_text(kind: str, name: str) -> str:
    """The author of a segment as written in `created_by`."""
    return f"{kind}:{name}"


def wording_at(body: str, start: int, end: int) -> Wording:
    """The wording of *body* from *start* to *end*."""
    return Wording(
        body[start:end], body[max(0, start - CONTEXT_CHARACTERS) : start], body[end : end + CONTEXT_CHARACTERS]
    )


def place_segment(segment: Segment, body: str, start: int, end: int) -> Segment:
    """*segment* at *start* to *end* of *body*, with the wording there."""
    wording = wording_at(body, start, end)
    return replace(
        segment, start=start, end=end, quote=wording.quote, prefix=wording.prefix, suffix=wording.suffix, detached=False
    )


def decode_segments(data: Mapping[str, object]) -> list[Segment]:
    """The segments in the *data* of a record, in the order of the text; other values are ignored."""
    segments = [segment for id, value in data.items() if (segment := _decode_segment(id, value)) is not None]
    return sorted(segments, key=lambda segment: (segment.start, segment.end, segment.id))


def encode_segments(data: Mapping[str, object], segments: Iterable[Segment]) -> dict[str, object]:
    """The *data* of a record with its segments replaced by *segments*; other values stay."""
    segment_ids = {segment.id for segment in decode_segments(data)}
    other_values = {key: value for key, value in data.items() if key not in segment_ids}
    return other_values | {segment.id: _encode_segment(segment) for segment in segments}


def is_only_moved(old: object, new: object) -> bool:
    """Whether the JSON of a segment differs only in the keys that follow the text."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return False
    return all(old.get(key) == new.get(key) for key in (old.keys() | new.keys()) - _KEYS_OF_PLACE)


def _decode_segment(id: str, value: object) -> Segment | None:
    if not isinstance(value, dict):
        return None
    values = dict(value)
    start, end = values.pop("start", None), values.pop("end", None)
    if not (_is_offset(start) and _is_offset(end)) or start > end:
        return None
    label, kind, maker = (_pop_text(values, key) for key in ("label", "kind", "created_by"))
    quote = _pop_text(values, "quote")
    prefix, suffix = _pop_text(values, "prefix"), _pop_text(values, "suffix")
    detached = values.pop("detached", False) is True
    former = _read_wording(values.pop("former", None))
    return Segment(
        id,
        start,
        end,
        label or "",
        kind or CODE,
        maker or "",
        quote,
        prefix or "",
        suffix or "",
        detached,
        former,
        values,
    )


def _encode_segment(segment: Segment) -> dict[str, object]:
    data: dict[str, object] = {
        **segment.others,
        "start": segment.start,
        "end": segment.end,
        "label": segment.label,
        "kind": segment.kind,
        "created_by": segment.created_by,
    }
    if segment.quote is not None:
        data |= {"quote": segment.quote, "prefix": segment.prefix, "suffix": segment.suffix}
    if segment.detached:
        data["detached"] = True
    if segment.former is not None:
        former = segment.former
        data["former"] = {"quote": former.quote, "prefix": former.prefix, "suffix": former.suffix}
    return data


def _read_wording(value: object) -> Wording | None:
    if not isinstance(value, dict):
        return None
    quote, prefix, suffix = (_pop_text(dict(value), key) for key in ("quote", "prefix", "suffix"))
    return Wording(quote, prefix or "", suffix or "") if quote is not None else None


def _pop_text(values: dict[str, object], key: str) -> str | None:
    value = values.pop(key, None)
    return value if isinstance(value, str) else None


def _is_offset(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
