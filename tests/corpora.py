"""Texts to try the codec on: the Markdown specifications and two real vaults, which are not part of the project."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
VAULTS = ("dendron-site", "foam")
MISSING = f"{CORPORA} is not here: the corpora are not part of the project"

_SPECIFICATIONS = ("commonmark-0.31.2", "gfm-0.29")


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a specification, and the HTML it asks for."""

    number: int
    markdown: str
    html: str


def commonmark() -> list[Example]:
    """The 652 of CommonMark 0.31.2."""
    return _examples(_SPECIFICATIONS[0])


def gfm() -> list[Example]:
    """The 673 of GFM 0.29."""
    return _examples(_SPECIFICATIONS[1])


def _examples(name: str) -> list[Example]:
    examples = json.loads((CORPORA / "spec" / f"{name}.json").read_text(encoding="utf-8"))
    return [Example(each["example"], each["markdown"], each["html"]) for each in examples]


def paths(vault: str, every: int = 1) -> list[Path]:
    """The pages of one of VAULTS, or every so manieth."""
    return sorted((CORPORA / vault).rglob("*.md"))[::every]


def text_of(path: Path) -> str:
    """A page exactly as it is on disk."""
    return path.read_bytes().decode()


def _mixed(text: str) -> str:
    endings = ("\n", "\r\n", "\r")
    pieces = text.split("\n")
    return "".join(piece + endings[index % 3] for index, piece in enumerate(pieces[:-1])) + pieces[-1]


def _tabs(text: str) -> str:
    return text.replace("    ", "\t").replace("\n- ", "\n-\t")


VARIANTS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "as it is": lambda text: text,
        "with a byte order mark": lambda text: "\ufeff" + text,
        "CRLF": lambda text: text.replace("\n", "\r\n"),
        "CR": lambda text: text.replace("\n", "\r"),
        "mixed line endings": _mixed,
        "no final line ending": lambda text: text.rstrip("\r\n"),
        "blanks at line ends": lambda text: text.replace("\n", " \n"),
        "tabs": _tabs,
    }
)
