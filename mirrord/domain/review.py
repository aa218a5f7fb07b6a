"""Reviews: what a person sees of a change set that waits, its title, and the choice of what is accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from types import MappingProxyType

MAX_SHOWN_CHARACTERS = 4_000_000  # of all texts of one change set; longer ones are accepted or rejected unseen
UNFITTING = "was changed in the tree since, in lines that your text changes too"
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
    None: there is none, or it is no text that can be shown. is_merged: others changed it too. clash: why it cannot be
    applied as it is, as the rest of a sentence after the path; new is the agent's text then. is_mendable: a text of the
    person's ends the clash. followed: by the path of a page or file that the change set moves, links of this page that
    lead nowhere where only one of both is accepted: new ones without the move, old ones with it.
    """

    path: str
    kind: str
    source: str | None
    old: str | None
    new: str | None
    is_merged: bool = False
    clash: str | None = None
    is_mendable: bool = False
    followed: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def facts(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """
    What a person accepts of a change set: everything but what is named here.

    rejected: paths. blocks: by path the numbers of the only changed blocks that are accepted. texts: by path the text
    that is accepted instead of the agent's; blocks of such a page are those of this text. unfitting: by path a text
    that was to be accepted so, but does not fit what others changed in the page since; nothing of it is accepted.
    """

    rejected: frozenset[str] = frozenset()
    blocks: Mapping[str, frozenset[int]] = field(default_factory=lambda: MappingProxyType({}))
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unfitting: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_whole(self) -> bool:
        """Whether everything is accepted as it is."""
        return not (self.rejected or self.blocks or self.texts or self.unfitting)

    def facts(self) -> dict[str, object]:
        """As JSON."""
        blocks = {path: sorted(numbers) for path, numbers in self.blocks.items()}
        texts = {"texts": dict(self.texts), "unfitting": dict(self.unfitting)}
        return {"rejected": sorted(self.rejected), "blocks": blocks, **texts}

    def unknown_paths(self, paths: Sequence[str]) -> set[str]:
        """Paths of the choice that are not among *paths*."""
        return {*self.rejected, *self.blocks, *self.texts} - {*paths}

    def text_of(self, path: str) -> str | None:
        """The person's text of a page, whether it fits or not; None: the agent's counts."""
        return self.texts.get(path, self.unfitting.get(path))


def choice_of(raw: Mapping[str, object]) -> ReviewChoice:
    """The choice in such JSON. Raises ValueError for any other."""
    rejected, blocks = raw.get("rejected") or [], raw.get("blocks") or {}
    texts, unfitting = raw.get("texts") or {}, raw.get("unfitting") or {}
    if not isinstance(rejected, list) or not all(isinstance(each, dict) for each in (blocks, texts, unfitting)):
        raise ValueError("A choice has rejected, blocks and texts.")
    assert isinstance(blocks, dict)
    assert isinstance(texts, dict)
    assert isinstance(unfitting, dict)
    if not all(isinstance(text, str) for text in (*rejected, *texts.values(), *unfitting.values())):
        raise ValueError("Paths and texts of a choice are strings.")
    numbers = {path: _numbers_of(listed) for path, listed in blocks.items()}
    return ReviewChoice(frozenset(rejected), numbers, texts, unfitting)


def clashes_of(changes: Sequence[ChangePreview], choice: ReviewChoice) -> dict[str, str]:
    """Why pages of the accepted part cannot be applied, by path."""
    accepted = [change for change in changes if change.path not in choice.rejected]
    clashes = {change.path: change.clash for change in accepted if change.clash is not None}
    mended = {change.path for change in accepted if change.is_mendable and change.path in choice.texts}
    unfitting = {change.path: UNFITTING for change in accepted if change.path in choice.unfitting}
    return {path: reason for path, reason in clashes.items() if path not in mended} | unfitting


def _numbers_of(listed: object) -> frozenset[int]:
    if not isinstance(listed, list) or not all(type(number) is int and number > 0 for number in listed):
        raise ValueError("Blocks are listed by their numbers.")
    return frozenset(listed)
