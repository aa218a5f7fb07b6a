"""What attackers want: two tenants, a data directory and a place outside, each with words that no reply may hold."""

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key
from mirrord.config import Agents, Config
from mirrord.domain.entry import Actor
from mirrord.mcp.admission import Tenant
from tests.support.clients import tenant_in

RIVAL = "rival-ltd"
CANARY = "canary-"  # how every planted secret begins
PAGES = {
    "Welcome.md": "---\ntitle: Welcome\n---\n\nSee [[Alpha]].\n",
    "Projects/_index.md": "# Projects\n",
    "Projects/Alpha.md": "---\ntitle: Alpha\n---\n\n# Alpha\n\nDetails.\n\n# Beta\n\nMore.\n",
    "Projects/assets/own.png": "own",
    "Notes.md": "# Notes\n\n![](assets/a.png)\n",
    "assets/a.png": "a",
}
_SECRETS = (
    "elsewhere/Alpha.md",
    "elsewhere/_index.md",
    "elsewhere/secret.txt",
    "elsewhere/assets/own.png",
    f"mirror/{RIVAL}/Secret.md",
    f"mirror/{RIVAL}/Projects/Alpha.md",
    f"mirror/{RIVAL}/assets/secret.png",
    "mirror/loose.md",
    "mirror/.mirrord/loose.md",
    "mirror/demo/.mirrord/secret.md",
    "mirror/demo/.records/secret.md",
    "mirror/demo/.git/config.md",
    "mirror/demo/.hidden/page.md",
    "data/pg/secret.md",
    "data/keys/notes.md",
)


@dataclass(frozen=True, slots=True)
class World:
    """
    base: what everything is below. tenant: whose token the attacker has; rival: another one.

    uploads: the directory from which files may be attached; elsewhere: one from which none may.
    """

    base: Path
    tenant: Tenant
    rival: Tenant
    config: Config

    @property
    def root(self) -> Path:
        return self.tenant.root

    @property
    def uploads(self) -> Path:
        return self.base / "uploads"

    @property
    def elsewhere(self) -> Path:
        return self.base / "elsewhere"

    def filled(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """*arguments* with the places of this world for `<ROOT>`, `<BASE>`, and so on."""
        return {key: self._filled(value) if isinstance(value, str) else value for key, value in arguments.items()}

    def _filled(self, text: str) -> str:
        for mark, place in (
            ("<ROOT>", self.root),
            ("<BASE>", self.base),
            ("<UPLOADS>", self.uploads),
            ("<ELSEWHERE>", self.elsewhere),
            ("<RIVAL>", self.rival.root),
            ("<RIVAL-ID>", self.rival.id),
        ):
            text = text.replace(mark, str(place))
        return text

    def secrets(self) -> list[str]:
        """What no reply may hold."""
        inside = ["Traceback", 'File "', "pydantic", "psycopg", "site-packages", "0x7f", "PRIVATE KEY"]
        return [CANARY, RIVAL, str(self.rival.id), str(self.base), *inside]


State = dict[str, tuple[object, ...]]


def world_in(base: Path) -> World:
    """A world below *base*, which is empty."""
    config = Config(mirror=base / "mirror", data=base / "data", dsn="host=nowhere")
    tenant, rival = tenant_in(config.mirror, "demo", PAGES), tenant_in(config.mirror, RIVAL)
    (base / "uploads").mkdir()
    (base / "uploads/plan.png").write_bytes(b"plan")
    for path in _SECRETS:
        file = base / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Secret\n\n{CANARY}{path.replace('/', '-')}\n", encoding="utf-8")
    private = signing_key(config.data, Keyring(config.mirror))
    expires = datetime.now(UTC) + timedelta(hours=1)
    token, _ = issue_token(private, tenant.name, tenant.id, Actor("agent", "red"), rights=Rights(), expires=expires)
    agents = Agents(token=token, attach_from=(base / "uploads",))
    return World(base, tenant, rival, Config(config.mirror, config.data, config.dsn, agents=agents))


def outside(world: World) -> State:
    """Everything below the base that is not the tenant's: names, kinds, times and bytes."""
    return _state(world.base, [world.root])


def unswapped(world: World) -> State:
    """outside() but for the uploads, where things are being swapped."""
    return _state(world.base, [world.root, world.uploads])


def inside(world: World) -> State:
    """Everything of the tenant's but what mirrord keeps to itself."""
    return _state(world.root, [world.root / ".mirrord"])


def _state(top: Path, leaving_out: Collection[Path]) -> State:
    entries: State = {}
    for name in sorted(os.listdir(top)):  # noqa: PTH208  (names of every kind, also those that are not UTF-8)
        path = top / name
        if path in leaving_out:
            continue
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            entries[str(path)] = ("directory", status.st_mode, status.st_ino)
            entries |= _state(path, leaving_out)
        else:
            entries[str(path)] = (
                status.st_mode,
                status.st_ino,
                status.st_size,
                status.st_mtime_ns,
                _held(path, status.st_mode),
            )
    return entries


def _held(path: Path, mode: int) -> object:
    if stat.S_ISLNK(mode):
        return path.readlink()
    return path.read_bytes() if stat.S_ISREG(mode) else None
