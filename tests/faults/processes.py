"""
Three engine processes share tenants, and are killed, stopped and started again while files and rows are edited.

Each page is edited on one side only, so at the end both sides of it have all of its tokens, each once, and no other
page is there.
"""

import json
import os
import random
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from mirrord.db.database import app_dsn
from mirrord.domain.entry import TenantId
from mirrord.mirror.heartbeat import request_flush
from tests.faults.world import PATIENCE, Cluster
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

PROCESSES, TENANTS, STEPS = 3, 5, 120
FAULTS = ("kill", "stop", "kill", "kill all")
FAULT_SHARE = 0.04  # of the steps
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)  # has the id of a page that an app made
TEXTS = "SELECT name, markdown FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page'"


@dataclass(slots=True)
class SharedTenant:
    """A tenant of a run. pages: their texts in the end; `file …` is edited as a file, `row …` as a row."""

    name: str
    root: Path
    app: Connection
    pages: dict[str, str] = field(default_factory=dict)

    def add_line(self, page: str, token: str) -> None:
        """Add a line to a page, made if it is missing."""
        is_new, text = page not in self.pages, self.pages.get(page, "") + f"{token}\n\n"
        if page.startswith("file"):
            save(self.root / f"{page}.md", text)
        elif is_new:
            self.app.execute("INSERT INTO mirrord.page (kind, name, markdown) VALUES ('page', %s, %s)", [page, text])
        else:
            self.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = %s", [text, page])
        self.pages[page] = text

    def violations(self) -> list[str]:
        """What is lost, doubled or different."""
        rows = self.app.execute(TEXTS).fetchall()
        files = {path.stem: path.read_text(encoding="utf-8") for path in self.root.glob("*.md")}
        sentences = [f"{self.name}: {len(rows)} rows, {len(self.pages)} pages"] if len(rows) != len(self.pages) else []
        for side, whole_texts in (("row", dict(rows)), ("file", files)):
            texts = {name: FRONT_MATTER.sub("", text) for name, text in whole_texts.items()}
            names = texts.keys() | self.pages.keys()
            wrong = [name for name in sorted(names) if texts.get(name) != self.pages.get(name)]
            sentences += [
                f"{self.name}: the {side} of {name!r} has {texts.get(name)!r}, not {self.pages.get(name)!r}"
                for name in wrong
            ]
        return sentences


def play(cluster: Cluster, directory: Path, name: str, seed: int, steps: int = STEPS) -> list[str]:
    """Play one history; returns what did not hold in the end."""
    chance = random.Random(seed)
    with _installed(cluster, directory, name) as (mirrord, tenants):
        _start(mirrord, tenants)
        for number in range(steps):
            tenant = chance.choice(tenants)
            tenant.add_line(f"{chance.choice(('file', 'row'))} {chance.randrange(4)}", f"Qz{seed}x{number:04}")
            if chance.random() < FAULT_SHARE:
                _hurt(mirrord, tenants, chance)
        if not mirrord.running:
            _start(mirrord, tenants)
        request_flush(mirrord.mirror, PATIENCE)
        return [sentence for tenant in tenants for sentence in tenant.violations()]


@contextmanager
def _installed(cluster: Cluster, directory: Path, name: str) -> Iterator[tuple[Mirrord, list[SharedTenant]]]:
    with ExitStack() as stack:
        tenants = []
        mirrord = stack.enter_context(Mirrord(directory, tenant=f"{name}-0", dsn=cluster.dsn))
        for number in range(TENANTS):
            tenant_id = cluster.add_tenant(f"{name}-{number}")
            app = stack.enter_context(_connected(cluster, tenant_id))
            tenants.append(SharedTenant(f"{name}-{number}", mirrord.mirror / f"{name}-{number}", app))
            tenants[-1].root.mkdir(parents=True)
        yield mirrord, tenants


@contextmanager
def _connected(cluster: Cluster, tenant: TenantId) -> Iterator[Connection]:
    with psycopg.connect(app_dsn(cluster.dsn, tenant), autocommit=True) as connection:
        yield connection


def _start(mirrord: Mirrord, tenants: list[SharedTenant]) -> None:
    others = [word for tenant in tenants[1:] for word in ("--tenant", tenant.name)]
    mirrord.start("--processes", str(PROCESSES), *others)
    mirrord.wait_ready(PATIENCE)


def _hurt(mirrord: Mirrord, tenants: list[SharedTenant], chance: random.Random) -> None:
    fault = chance.choice(FAULTS)
    if fault == "kill all":
        mirrord.kill()
        eventually(lambda: not mirrord.workers(), "the engine processes to end with their supervisor", PATIENCE)
        _start(mirrord, tenants)
        return
    facts = json.loads((mirrord.mirror / ".mirrord/daemon.json").read_bytes())
    pids = [process["pid"] for process in facts["processes"] if process["pid"] is not None]
    if pids:
        with suppress(ProcessLookupError):  # it ended by itself since the heartbeat
            os.kill(chance.choice(pids), signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
