"""Segments: spans of a page's text that somebody named, and the JSON that tells of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeGuard

AROUND = 32  # characters before and after a segment that are remembered to find it again
CODE, SPEAKER = "code", "speaker"  # kinds
_PLACE = frozenset({"start", "end", "quote", "prefix", "suffix", "detached", "former"})  # keys that follow the text


@dataclass(frozen=True, slots=True)
class Wording:
    """What a segment says, and up to AROUND characters before and after it."""

    quote: str
    prefix: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Segment:
    """
    One span of a page's body: of its text without front matter.

    id: unique within the page. start, end: characters (code points); the segment is `body[start:end]`.
    label: the code, or the speaker's name. kind: CODE, SPEAKER, or an app's own.
    created_by: whoever made it, as `kind:name`.
    quote, prefix, suffix: as in Wording; quote None: not known yet, whatever is at the place is meant.
    detached: its text is not on the page any more; start and end tell where it was.
    former: what it said before somebody edited within it, as long as that did not come back.
    others: further keys of its JSON, which are somebody's own.
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
    """Who made a segment, as `created_by` spells it."""
    return f"{kind}:{name}"


def wording_at(body: str, start: int, end: int) -> Wording:
    """What *body* says there."""
    return Wording(body[start:end], body[max(0, start - AROUND) : start], body[end : end + AROUND])


def placed(segment: Segment, body: str, start: int, end: int) -> Segment:
    """*segment* as what *body* says from *start* to *end*."""
    said = wording_at(body, start, end)
    return replace(
        segment, start=start, end=end, quote=said.quote, prefix=said.prefix, suffix=said.suffix, detached=False
    )


def decoded(data: Mapping[str, object]) -> list[Segment]:
    """The segments that a record's *data* tells of, in the order of the text; what is none is passed over."""
    found = [segment for id, value in data.items() if (segment := _decode(id, value)) is not None]
    return sorted(found, key=lambda one: (one.start, one.end, one.id))


def encoded(data: Mapping[str, object], segments: Iterable[Segment]) -> dict[str, object]:
    """What a record says that said *data* and is to tell of *segments*; what is no segment stays."""
    own = {segment.id for segment in decoded(data)}
    kept = {key: value for key, value in data.items() if key not in own}
    return kept | {segment.id: _encode(segment) for segment in segments}


def is_moved(old: object, new: object) -> bool:
    """Whether the JSON of a segment became another only as it follows the text."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return False
    return all(old.get(key) == new.get(key) for key in (old.keys() | new.keys()) - _PLACE)


def _decode(id: str, value: object) -> Segment | None:
    if not isinstance(value, dict):
        return None
    rest = dict(value)
    start, end = rest.pop("start", None), rest.pop("end", None)
    if not (_is_offset(start) and _is_offset(end)) or start > end:
        return None
    label, kind, maker = (_text(rest, key) for key in ("label", "kind", "created_by"))
    quote = _text(rest, "quote")
    prefix, suffix = _text(rest, "prefix"), _text(rest, "suffix")
    detached = rest.pop("detached", False) is True
    former = _wording(rest.pop("former", None))
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
        rest,
    )


def _encode(segment: Segment) -> dict[str, object]:
    said: dict[str, object] = {
        **segment.others,
        "start": segment.start,
        "end": segment.end,
        "label": segment.label,
        "kind": segment.kind,
        "created_by": segment.created_by,
    }
    if segment.quote is not None:
        said |= {"quote": segment.quote, "prefix": segment.prefix, "suffix": segment.suffix}
    if segment.detached:
        said["detached"] = True
    if segment.former is not None:
        former = segment.former
        said["former"] = {"quote": former.quote, "prefix": former.prefix, "suffix": former.suffix}
    return said


def _wording(value: object) -> Wording | None:
    if not isinstance(value, dict):
        return None
    quote, prefix, suffix = (_text(dict(value), key) for key in ("quote", "prefix", "suffix"))
    return Wording(quote, prefix or "", suffix or "") if quote is not None else None


def _text(values: dict[str, object], key: str) -> str | None:
    found = values.pop(key, None)
    return found if isinstance(found, str) else None


def _is_offset(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
