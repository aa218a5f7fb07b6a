"""Reviews: what a person sees of a change set that waits, its title, and the choice of what is accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from types import MappingProxyType

MAX_SHOWN_CHARACTERS = 4_000_000  # of all texts of one change set; longer ones are accepted or rejected unseen
# What MCP libraries call a client that has no name, and mirrord an agent without one.
_EMPTY_NAMES = {"", "agent", "client", "local", "mcp", "mcp-client"}


def title_without_words(client: str | None, actor_name: str, moment: datetime) -> str:
    """The title of a change set that its agent gave none: its program, else the name of its token, and the time."""
    names = ((name or "").strip() for name in (client, actor_name))
    name = next((name for name in names if name.lower() not in _EMPTY_NAMES), "Agent")
    local = moment.astimezone()
    return f"{name}, {local.day} {local:%B %H:%M}"


@dataclass(frozen=True, slots=True)
class ChangePreview:
    """
    What would become of one file.

    kind: created, edited, moved or deleted. source: its path now; None: it is new. old, new: its text now and then;
    None: there is none, or it is no text that can be shown. is_merged: others changed it too.
    """

    path: str
    kind: str
    source: str | None
    old: str | None
    new: str | None
    is_merged: bool = False

    def facts(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """
    What a person accepts of a change set: everything but what is named here.

    rejected: paths. blocks: by path the numbers of the only changed blocks that are accepted. texts: by path the text
    that is accepted instead of the agent's.
    """

    rejected: frozenset[str] = frozenset()
    blocks: Mapping[str, frozenset[int]] = field(default_factory=lambda: MappingProxyType({}))
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_whole(self) -> bool:
        """Whether everything is accepted as it is."""
        return not (self.rejected or self.blocks or self.texts)

    def facts(self) -> dict[str, object]:
        """As JSON."""
        blocks = {path: sorted(numbers) for path, numbers in self.blocks.items()}
        return {"rejected": sorted(self.rejected), "blocks": blocks, "texts": dict(self.texts)}

    def unknown_paths(self, paths: Sequence[str]) -> set[str]:
        """Paths of the choice that are not among *paths*."""
        return {*self.rejected, *self.blocks, *self.texts} - {*paths}


def choice_of(raw: Mapping[str, object]) -> ReviewChoice:
    """The choice in such JSON. Raises ValueError for any other."""
    rejected, blocks, texts = raw.get("rejected") or [], raw.get("blocks") or {}, raw.get("texts") or {}
    if not isinstance(rejected, list) or not isinstance(blocks, dict) or not isinstance(texts, dict):
        raise ValueError("A choice has rejected, blocks and texts.")
    if not all(isinstance(text, str) for text in (*rejected, *texts.values())):
        raise ValueError("Paths and texts of a choice are strings.")
    numbers = {path: _numbers_of(listed) for path, listed in blocks.items()}
    return ReviewChoice(frozenset(rejected), numbers, texts)


def _numbers_of(listed: object) -> frozenset[int]:
    if not isinstance(listed, list) or not all(type(number) is int and number > 0 for number in listed):
        raise ValueError("Blocks are listed by their numbers.")
    return frozenset(listed)
