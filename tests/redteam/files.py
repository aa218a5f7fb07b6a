"""Attacks by what lies in the tree or among the uploads, as data: who planted it had more rights than the agent."""

import os
import shutil
import socket
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.redteam.judging import DONE
from tests.redteam.world import World

Call = tuple[str, Mapping[str, Any]]  # tool, arguments


@dataclass(frozen=True, slots=True)
class Planted:
    """plant: what is put there before; calls: what is tried then, by what it is; codes: how each may end."""

    plant: Callable[[World], object]
    calls: Mapping[str, Call]
    codes: frozenset[str]


def _link(path: str, target: str) -> Callable[[World], None]:
    """A symbolic link at *path*, below the base, in place of what is there."""

    def plant(world: World) -> None:
        place = world.base / path
        _cleared(place)
        place.symlink_to(world.base / target)

    return plant


def _hard_link(path: str, target: str) -> Callable[[World], None]:
    def plant(world: World) -> None:
        place = world.base / path
        _cleared(place)
        os.link(world.base / target, place)

    return plant


def _fifo(path: str) -> Callable[[World], None]:
    return lambda world: os.mkfifo(_cleared(world.base / path))


def _device(path: str) -> Callable[[World], None]:
    """/dev/zero, which never ends; a directory where no devices may be made."""

    def plant(world: World) -> None:
        place = _cleared(world.base / path)
        try:
            os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        except PermissionError:
            place.mkdir()

    return plant


def _socket(path: str) -> Callable[[World], None]:
    def plant(world: World) -> None:
        _cleared(world.base / path)
        previous_directory = Path.cwd()
        os.chdir((world.base / path).parent)  # a socket's path has about a hundred bytes
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(Path(path).name)
        finally:
            os.chdir(previous_directory)

    return plant


def _cleared(place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    return place


_HERE = "mirror/demo/"
_CLOSED = frozenset({"REFUSED", "PAGE_NOT_FOUND", "FILE_NOT_FOUND", "EXISTS", "UNAVAILABLE", "INVALID_NAME", "BUSY"})
_CLOSED_OR_DONE = _CLOSED | {DONE, "READ_FIRST", "TEXT_NOT_FOUND", "PAGE_NOT_FOUND"}

_PAGE: Mapping[str, Callable[[World], None]] = {
    "a link to a page outside": _link(f"{_HERE}Evil.md", "elsewhere/Alpha.md"),
    "a link to a page of another tenant": _link(f"{_HERE}Evil.md", "mirror/rival-ltd/Secret.md"),
    "a link to the private key": _link(f"{_HERE}Evil.md", "data/keys/signing.pem"),
    "a link to what mirrord keeps": _link(f"{_HERE}Evil.md", f"{_HERE}.mirrord/secret.md"),
    "a link to nothing": _link(f"{_HERE}Evil.md", "elsewhere/new.md"),
    "a link to itself": _link(f"{_HERE}Evil.md", f"{_HERE}Evil.md"),
    "a link to a device": _link(f"{_HERE}Evil.md", "../../../../../../../../dev/zero"),
    "a link to proc": _link(f"{_HERE}Evil.md", "../../../../../../../../proc/self/environ"),
    "a fifo": _fifo(f"{_HERE}Evil.md"),
    "a device": _device(f"{_HERE}Evil.md"),
    "a socket": _socket(f"{_HERE}Evil.md"),
}
_ON_PAGE: Mapping[str, Call] = {
    "read": ("read_page", {"path": "Evil.md"}),
    "write": ("write_page", {"path": "Evil.md", "content": "mine"}),
    "edit": ("edit_page", {"path": "Evil.md", "edits": [{"find": "Secret", "replace": "x"}]}),
    "delete": ("delete_page", {"path": "Evil.md"}),
    "move": ("move_page", {"sourcePath": "Evil.md", "destinationPath": "Mine.md"}),
    "move over": ("move_page", {"sourcePath": "Welcome.md", "destinationPath": "Evil.md"}),
    "link": ("get_page_links", {"path": "Evil.md"}),
    "attach to": ("add_attachment", {"pagePath": "Evil.md", "filePath": "<UPLOADS>/plan.png"}),
    "ask for": ("sync_status", {"path": "Evil.md"}),
}
_AROUND: Mapping[str, Call] = {
    "list": ("list_pages", {"includeContent": True, "depth": 5}),
    "grow": ("get_tree", {"includeMetadata": True}),
    "search": ("search_pages", {"query": "secret"}),
    "search by pattern": ("search_pages", {"query": "(?i)canary|secret", "regex": True}),
    "move a page": ("move_page", {"sourcePath": "Notes.md", "destinationPath": "Secret.md"}),
}
_DIRECTORY: Mapping[str, Callable[[World], None]] = {
    "a link to a directory outside": _link(f"{_HERE}Projects", "elsewhere"),
    "a link to another tenant": _link(f"{_HERE}Projects", "mirror/rival-ltd/Projects"),
    "a link to the mirror": _link(f"{_HERE}Projects", "mirror"),
    "a link to what mirrord keeps": _link(f"{_HERE}Projects", f"{_HERE}.mirrord"),
    "a link to the root itself": _link(f"{_HERE}Projects", f"{_HERE}"),
}
_IN_DIRECTORY: Mapping[str, Call] = {
    "read": ("read_page", {"path": "Projects/Alpha.md"}),
    "read the index": ("read_page", {"path": "Projects"}),
    "write": ("write_page", {"path": "Projects/Alpha.md", "content": "mine"}),
    "write a new one": ("write_page", {"path": "Projects/New.md", "content": "mine"}),
    "create": ("create_page", {"title": "New", "parentPath": "Projects"}),
    "edit": ("edit_page", {"path": "Projects/Alpha.md", "edits": [{"find": "Secret", "replace": "x"}]}),
    "delete": ("delete_page", {"path": "Projects/Alpha.md"}),
    "delete all": ("delete_page", {"path": "Projects", "recursive": True}),
    "move into": ("move_page", {"sourcePath": "Welcome.md", "destinationPath": "Projects/"}),
    "move out": ("move_page", {"sourcePath": "Projects/Alpha.md", "destinationPath": "Mine.md"}),
    "attach": ("add_attachment", {"pagePath": "Projects/Alpha.md", "filePath": "<UPLOADS>/plan.png"}),
    "list": ("list_pages", {"path": "Projects", "includeContent": True}),
    "grow": ("get_tree", {"path": "Projects"}),
}
_UPLOADS: Mapping[str, Callable[[World], None]] = {
    "a link to a secret": _link("uploads/plan.png", "elsewhere/secret.txt"),
    "a link to another tenant's file": _link("uploads/plan.png", "mirror/rival-ltd/assets/secret.png"),
    "a link to the private key": _link("uploads/plan.png", "data/keys/signing.pem"),
    "a hard link to the private key": _hard_link("uploads/plan.png", "data/keys/signing.pem"),
    "a hard link to another tenant's page": _hard_link("uploads/plan.png", "mirror/rival-ltd/Secret.md"),
    "a fifo": _fifo("uploads/plan.png"),
    "a device": _device("uploads/plan.png"),
    "a socket": _socket("uploads/plan.png"),
}
_SOURCES = (
    "<UPLOADS>/../elsewhere/secret.txt",
    "<UPLOADS>/../data/keys/signing.pem",
    "<UPLOADS>/link/secret.txt",
    "<UPLOADS>/link/../data/keys/signing.pem",
    "<UPLOADS>",
    "<UPLOADS>/",
    "<UPLOADS>-more/secret.txt",
    "<ELSEWHERE>/secret.txt",
    "<RIVAL>/assets/secret.png",
    "<ROOT>/Welcome.md",
    "<ROOT>/.mirrord/id",
    "<BASE>/mirror/.mirrord/loose.md",
    "<BASE>/data/keys/signing.pem",
    "../elsewhere/secret.txt",
    "link/secret.txt",
    "./plan.png/../../elsewhere/secret.txt",
    "/proc/self/fd/0",
    "/proc/self/root/etc/passwd",
    "/dev/zero",
    "file:///etc/passwd",
    "https://example.org/x.png",
    "~/.ssh/id_ed25519",
    "plan.png\0",
    "",
)
_NAMES = (
    *(
        "../evil.png",
        "/etc/evil.png",
        "a/b.png",
        "..",
        ".",
        "",
        ".mirrord",
        ".htaccess",
        "_index",
        "ASSETS",
        "evil\0.png",
    ),
    *(
        "evil\n.png",
        "a" * 300 + ".png",
        "con.png",
        "-rf.png",
        "evil.png~",
        "x\\..\\y.png",
        "evil.png:stream",
        " evil.png",
    ),
)


def _attaching(**arguments: str) -> Call:
    return "add_attachment", {"pagePath": "Notes.md", "filePath": "<UPLOADS>/plan.png", **arguments}


def _kept(world: World) -> None:
    (world.base / "uploads-more").mkdir()
    (world.base / "uploads-more/secret.txt").write_text("canary-more", encoding="utf-8")
    _link("uploads/link", "elsewhere")(world)


# Links where mirrord itself writes: the trash, the journals, the records of events.
_PRIVATE = {
    "the records": (".records", {"write", "delete", "create", "attach"}),
    "the events": (".records/events", {"write", "delete", "create", "attach"}),
    "the trash": (".mirrord/trash", {"delete"}),
    "the journals": (".mirrord/tmp", {"write", "delete", "create", "attach"}),
    "the state": (".mirrord", {"write", "delete", "create", "attach"}),
    "the assets": ("assets", {"attach"}),
}
_ACTS: Mapping[str, Call] = {
    "write": ("write_page", {"path": "New.md", "content": "mine"}),
    "delete": ("delete_page", {"path": "Notes.md"}),
    "create": ("create_page", {"title": "New"}),
    "attach": _attaching(),
}

_EDITS: Mapping[str, Call] = {
    "edit": ("edit_page", {"path": "Welcome.md", "edits": [{"find": "plan", "replace": "x"}]}),
    "set a key": ("edit_page", {"path": "Welcome.md", "edits": [{"frontMatter": {"set": {"a": 1}}}]}),
    "replace": ("write_page", {"path": "Welcome.md", "content": "mine"}),
    "delete": ("delete_page", {"path": "Welcome.md"}),
}


def _all_of_them(world: World) -> None:
    """Every page that is none, each under a name of its own."""
    for number, plant in enumerate(_PAGE.values()):
        plant(world)
        (world.root / "Evil.md").rename(world.root / f"Evil{number}.md")


FILES: Mapping[str, Planted] = {
    **{description: Planted(plant, _ON_PAGE, _CLOSED) for description, plant in _PAGE.items()},
    "around pages that are none": Planted(_all_of_them, _AROUND, frozenset({DONE})),
    **{
        f"as a folder, {description}": Planted(plant, _IN_DIRECTORY, _CLOSED)
        for description, plant in _DIRECTORY.items()
    },
    "a hard link": Planted(_hard_link(f"{_HERE}Welcome.md", "uploads/plan.png"), _EDITS, _CLOSED_OR_DONE),
    **{
        f"uploaded, {description}": Planted(plant, {"attach": _attaching()}, _CLOSED)
        for description, plant in _UPLOADS.items()
    },
    "from elsewhere": Planted(_kept, {path: _attaching(filePath=path) for path in _SOURCES}, _CLOSED),
    "names": Planted(
        lambda world: None, {name: _attaching(fileName=name) for name in _NAMES}, frozenset({"INVALID_NAME"})
    ),
    **{
        f"in place of {description}": Planted(
            _link(f"{_HERE}{path}", "elsewhere"), {act: _ACTS[act] for act in sorted(acts)}, _CLOSED
        )
        for description, (path, acts) in _PRIVATE.items()
    },
}
