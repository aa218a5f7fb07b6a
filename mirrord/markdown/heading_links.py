"""Headings as links name them: by their text, as Obsidian writes it, or by a slug, as GitHub makes it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mirrord.markdown.page_links import Link
from mirrord.markdown.read.page_outline import Section

_BETWEEN = "#"  # between a heading and one below it, in a link
_BLOCK_MARK = "^"  # before the id of a block
_NOT_IN_LINKS = re.compile(r"[:#|^\\\r\n\[\]]|%%")
_PUNCTUATION = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")
_LABELLED = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]|!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`]+|==|~~|\\(?=[^\w\s])|(?<!\w)_+|_+(?!\w)")
_NOT_IN_SLUGS = re.compile(r"[^\w\- ]")
_SLUG_KINDS = ("markdown", "image")


@dataclass(frozen=True, slots=True)
class HeadingMeaning:
    """The headings that a link names, by their number in the page, outermost first. is_slug: it names one by slug."""

    steps: tuple[int, ...]
    is_slug: bool = False

    @property
    def number(self) -> int:
        """The number of the heading that it leads to."""
        return self.steps[-1]


class PageHeadings:
    """The headings of one page."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self._keys = [_key_of(section.title) for section in sections]
        self.slugs = list(_numbered_slugs(sections))

    def meaning_of(self, link: Link, heading: str) -> HeadingMeaning | None:
        """What *heading* of a link of the kind of *link* leads to; None: a block, or nothing."""
        if not heading or heading.startswith(_BLOCK_MARK):
            return None
        if link.kind in _SLUG_KINDS and heading in self.slugs:
            return HeadingMeaning((self.slugs.index(heading),), is_slug=True)
        steps = self._follow_steps(heading)
        return HeadingMeaning(steps) if steps is not None else None

    def spell(self, link: Link, meaning: HeadingMeaning) -> str | None:
        """How a link of the kind of *link* names a heading of this page, in the style of *meaning*; None: it cannot."""
        for option in self._possible_spellings(meaning):
            option_meaning = self.meaning_of(link, option)
            if option_meaning is not None and option_meaning.number == meaning.number:
                return option
        return None

    def _possible_spellings(self, meaning: HeadingMeaning) -> Iterator[str]:
        if meaning.is_slug:
            yield self.slugs[meaning.number]
            return
        texts = [text_in_links(self.sections[number].title) for number in self._line_of(meaning.number)]
        if len(meaning.steps) > 1:
            yield _BETWEEN.join(text_in_links(self.sections[number].title) for number in meaning.steps)
        for count in range(1, len(texts) + 1):
            yield _BETWEEN.join(texts[-count:])

    def _line_of(self, number: int) -> list[int]:
        """The headings above one, outermost first, and it."""
        start = self.sections[number].start
        return [at for at, section in enumerate(self.sections) if section.start <= start < section.end]

    def _follow_steps(self, heading: str) -> tuple[int, ...] | None:
        steps: list[int] = []
        for part in heading.split(_BETWEEN):
            key = _key_of(part)
            step = next((number for number in self._numbers_below(steps) if self._keys[number] == key), None)
            if not key or step is None:
                return None
            steps.append(step)
        return tuple(steps)

    def _numbers_below(self, steps: Sequence[int]) -> Iterator[int]:
        above = self.sections[steps[-1]] if steps else None
        for number, section in enumerate(self.sections):
            if above is None or above.start < section.start < above.end:
                yield number


def follow_heading(link: Link, before: PageHeadings, after: PageHeadings, numbers: Mapping[int, int]) -> str | None:
    """
    The heading of *link*, which named one of *before*, as it names the same one of *after*.

    numbers: of the headings in *after*, by those in *before*. Unchanged if it still fits, is a block, or named nothing.
    """
    old = link.heading
    meaning = before.meaning_of(link, old) if old is not None else None
    if old is None or meaning is None or meaning.number not in numbers:
        return old
    steps = [step for step in meaning.steps if step in numbers]  # one above may have gone
    moved = HeadingMeaning(tuple(numbers[step] for step in steps), meaning.is_slug)
    still = after.meaning_of(link, old)
    if still is not None and still.number == moved.number and still.is_slug == moved.is_slug:
        return old
    return after.spell(link, moved) or old


def text_in_links(title: str) -> str:
    """A heading as wikilinks write it: without characters that mean something there."""
    return " ".join(_NOT_IN_LINKS.sub(" ", title).split())


def plain_title(title: str) -> str:
    """A heading as a title: without marks of links, emphasis and code."""
    text = _LABELLED.sub(lambda match: match[1] or match[2] or "", title)
    return " ".join(_EMPHASIS.sub("", text).split())


def _key_of(heading: str) -> str:
    return _PUNCTUATION.sub(" ", heading).strip().casefold()


def _numbered_slugs(sections: Sequence[Section]) -> Iterator[str]:
    counts = Counter[str]()
    for section in sections:
        slug = _slug_of(section.title)
        yield f"{slug}-{counts[slug]}" if counts[slug] else slug
        counts[slug] += 1


def _slug_of(title: str) -> str:
    plain = _LABELLED.sub(lambda match: match[1] or match[2] or "", title)
    return _NOT_IN_SLUGS.sub("", plain.strip()).lower().replace(" ", "-")
