"""Edits that come when they come, whether or not the ones before have arrived."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from uuid import UUID

from mirrord.domain.entry import digest_of
from tests.support.editors import save
from tests.support.rows import Connection

PAUSE = 0.002  # seconds between two looks: the resolution of these figures
PATIENCE = 60.0  # seconds for the last of them

_ARRIVED = """SELECT page.tenant_id, page.id FROM unnest(%s::uuid[], %s::uuid[], %s::bytea[]) AS wanted (t, i, d)
                JOIN mirrord.page ON page.tenant_id = wanted.t AND page.id = wanted.i WHERE page.digest = wanted.d"""
_BARE_ARRIVED = """SELECT bare.path FROM unnest(%s::text[], %s::bytea[]) AS wanted (p, d)
                     JOIN public.bare ON bare.path = wanted.p WHERE bare.digest = wanted.d"""


@dataclass(frozen=True, slots=True)
class Spot:
    """A file somebody may edit, and its row."""

    file: Path
    tenant: UUID
    entry: UUID


Arrived = Callable[[dict[Spot, bytes]], list[Spot]]


def spread(spots: Sequence[Spot], arrived: Arrived, rate: float, seconds: float, chance: Random) -> list[float]:
    """
    Milliseconds of each of *rate* edits a second, from just before the save until its row is seen.

    arrived: which of some spots have a row with the digest given.
    """
    began = time.perf_counter()
    due, waiting, spans = began, dict[Spot, tuple[float, bytes]](), list[float]()
    while (now := time.perf_counter()) < began + seconds or waiting:
        if now >= due and now < began + seconds:
            due += 1 / rate
            spot = _another(spots, waiting, chance)
            waiting[spot] = _edited(spot, len(spans) + len(waiting))
        for spot in arrived({spot: digest for spot, (_, digest) in waiting.items()}) if waiting else ():
            spans.append((time.perf_counter() - waiting.pop(spot)[0]) * 1000)
        assert now < began + seconds + PATIENCE, f"{len(waiting)} of {len(spans) + len(waiting)} edits never arrived"
        time.sleep(PAUSE)
    return spans


def in_rows(app: Connection) -> Arrived:
    """Those whose page has it. app: a connection that sees every tenant."""

    def arrived(waiting: dict[Spot, bytes]) -> list[Spot]:
        by_row = {(spot.tenant, spot.entry): spot for spot in waiting}
        parameters = [[tenant for tenant, _ in by_row], [entry for _, entry in by_row], list(waiting.values())]
        return [by_row[tenant, entry] for tenant, entry in app.execute(_ARRIVED, parameters).fetchall()]

    return arrived


def in_bare_rows(app: Connection) -> Arrived:
    """Those of which the bare loop's row has it."""

    def arrived(waiting: dict[Spot, bytes]) -> list[Spot]:
        by_path = {str(spot.file): spot for spot in waiting}
        return [by_path[path] for (path,) in app.execute(_BARE_ARRIVED, [list(by_path), list(waiting.values())])]

    return arrived


def _another(spots: Sequence[Spot], waiting: dict[Spot, tuple[float, bytes]], chance: Random) -> Spot:
    while (spot := chance.choice(spots)) in waiting:
        pass
    return spot


def _edited(spot: Spot, number: int) -> tuple[float, bytes]:
    """When the save began, and the digest of what was saved."""
    text = spot.file.read_bytes() + f"\nedit {number} {time.monotonic_ns()}\n".encode()
    began = time.perf_counter()
    save(spot.file, text)
    return began, bytes(digest_of(text))
