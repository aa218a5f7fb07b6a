"""
Edits beside syntax of other programs, on generated pages of each dialect: which of that syntax is damaged.

Each page is edited twice: as a page of its dialect, and as one of no dialect that mirrord knows.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Node, make_document, text_node
from mirrord.markdown.write.render import NewViews, render
from tests.bench.codec.report import NONE, Report
from tests.bench.figures import Figure

PAGES = 400  # of each dialect
WORDS = ("north", "south", "eastern", "western", "harbour", "bridge")  # in no foreign syntax below
_VIEWS = NewViews(None, None, None, None, None, None)

_LIQUID_INLINE = (
    "{{ page.title | escape }}",
    "[#2880]({{ site.repository }}/issues/2880)",
    "![a_b]({{ site.cdn }}/a_b*c.png)",
    "{% link _posts/2016-07-26-a_b_c.md %}",
    '{:target="_blank" .a_b_}',
    r"\\(x_1 + *y_1*\\)",
    r"\(a_1 * b_1\)",
)
_LIQUID_LINES = (
    '{% include a_b.html x="*y*" %}',
    "{: .note .a_b_ }",
    "*[HTML]: Hyper *Text* Markup",
    "{% highlight ruby linenos %}\ndef show_it\n  # *stars* and _bars_\n\n    puts 1\nend\n{% endhighlight %}",
    "{% raw %}\n{{ *x* }}\n{% endraw %}",
)
_DIRECTIVE_LINES = (":::note[A *title*]", ":::", "::::steps", "::leaf[*a*]{#b_c_}")
_MODULE_INLINE = ("{props.value_a * 2 * x}", "{/* a *b* _c_ */}", '<Badge items={["a_b", "*c*"]} />')
_MODULE_LINES = (
    "import Tabs from '@theme/Tabs_a_b';\nimport *as x* from 'y'",
    "export const a_b_ = 4 * 2 * x;",
    '<Tabs items={["a_b_", "*c*"]}>',
    "</Steps>",
    "{/* a comment with *stars* */}",
    "{/* a comment with a `tick and {braces\n\n- over *blank* lines\n*/}",
    "<Cards\n  cards={[\n" + "    { title: '*A* {', href: \"/a_b_\" },\n" * 12 + "\n  ]}\n/>",
    "{`a template { with\n\n*blank* lines`}",
)
INLINE: Mapping[Dialect, Sequence[str]] = MappingProxyType(
    {
        Dialect.LOGSEQ: ("((63f1a2b4-1234))", "{{query (and [[a_b]] [[c*d*]])}}", "{{embed ((63f1a2b4))}}"),
        Dialect.MKDOCS: ("{{ config.a_b_ }}", "{ .a_b_ }".replace(" ", ""), "{#a_b_ .c}", r"\(x_1 + y_1\)"),
        Dialect.JEKYLL: _LIQUID_INLINE,
        Dialect.HUGO: (
            '[the guide]({{< ref "guide_a_b.md" >}})',
            '{{< param "a_b_" >}}',
            "{{% *md* %}}",
            "{#a-b_c_}",
            "![p]({{ .Site.Params.cdn }}/a_b.png)",
        ),
        Dialect.DOCUSAURUS: _MODULE_INLINE,
        Dialect.ASTRO: _MODULE_INLINE,
        Dialect.MYST: (
            "{ref}`a_b_c <x*y*>`",
            "{py:class}`~a_b.C_d`",
            "{code}``x ` *y*``",
            "{{ project_a_b }}",
            "{#a_b_ .c}",
        ),
    }
)
LINES: Mapping[Dialect, Sequence[str]] = MappingProxyType(
    {
        Dialect.LOGSEQ: (
            "tags:: [[a_b]], *c*\ntype:: _x_",
            "#+BEGIN_QUERY\n{:title *x*\n  :query [_a_]}\n#+END_QUERY",
            ":LOGBOOK:\nCLOCK: [2024-01-05 *Fri*]\n:END:",
        ),
        Dialect.MKDOCS: (
            '!!! note "A *title*"\n    Indented *words* of a_b_\n\n    A second one.',
            "??? tip\n    Collapsed.",
            '=== "Tab *one*"\n\n    Text in it.\n\n    ```python\n    code = 1\n    ```',
            "*[HTML]: Hyper *Text* Markup",
        ),
        Dialect.JEKYLL: _LIQUID_LINES,
        Dialect.HUGO: (
            '{{< alert title="*N*" color="a_b_" >}}',
            "{{< /alert >}}",
            "{{% pageinfo %}}",
            "{{< highlight go >}}\nfunc a_b_() { *x* }\n\n    y\n{{< /highlight >}}",
        ),
        Dialect.DOCUSAURUS: (*_MODULE_LINES, *_DIRECTIVE_LINES),
        Dialect.ASTRO: (*_MODULE_LINES, *_DIRECTIVE_LINES),
        Dialect.MYST: (
            "```{note}\nThe *text* of a_b_\n\n    and more\n```",
            "````{tab-set}\n```{tab-item} A *b*\ninside\n```\n````",
            "~~~{code-block} python\n:linenos:\n\nx = '*a*'\n~~~",
            "(a-label_b_)=",
            "% a comment with *stars* and a_b_",
            '+++ {"slide": "a_b_"}',
            ":::{admonition} A *title*\n:class: a_b_ *c*",
            ":::",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Page:
    """A generated page. lines: what it has of foreign syntax, by line or as spans inside of lines, with counts."""

    dialect: Dialect
    text: str
    lines: Counter[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an edit. damaged: foreign syntax that is gone. refusal: of the codec, "" if it was done."""

    edit: str
    damaged: Sequence[str] = ()
    refusal: str = ""


def measure(workers: Executor, seed: int) -> Report:
    """Each edit of generated pages of each dialect, with the dialect known and unknown."""
    report = Report()
    for dialect in INLINE:
        pages = [make_page(dialect, seed + number) for number in range(PAGES)]
        for read_as in (Dialect.PLAIN, dialect):
            outcomes = [
                outcome
                for chunk in workers.map(_outcomes, pages, [read_as] * PAGES, range(seed, seed + PAGES), chunksize=20)
                for outcome in chunk
            ]
            state = "unknown" if read_as is Dialect.PLAIN else "known"
            name = f"edits beside foreign syntax, {dialect.value}, dialect {state}"
            damages = [outcome for outcome in outcomes if outcome.damaged]
            goal = NONE if read_as is dialect else None
            report.figures += [
                Figure(f"{name}: damaged", len(damages), f"of {len(outcomes):,}", goal),
                Figure(f"{name}: refused", sum(bool(each.refusal) for each in outcomes), f"of {len(outcomes):,}"),
            ]
            if goal:
                report.broken += [f"{name}, {each.edit}: {each.damaged}" for each in damages]
            report.notes += [f"{name}, {each.edit}: refused: {each.refusal}" for each in outcomes if each.refusal]
    return report


def _outcomes(page: Page, read_as: Dialect, seed: int) -> list[Outcome]:
    return list(outcomes_of(page, read_as, random.Random(seed)))


def make_page(dialect: Dialect, seed: int) -> Page:
    """The page of *dialect* that *seed* stands for."""
    chance = random.Random(seed)
    blocks, lines = list[str](), Counter[str]()
    for _ in range(chance.randint(3, 8)):
        block, foreign = _make_block(dialect, chance)
        blocks.append(block)
        lines.update(foreign)
    return Page(dialect, "\n\n".join(blocks) + "\n", lines)


def _make_block(dialect: Dialect, chance: random.Random) -> tuple[str, list[str]]:
    kind = chance.choice(("heading", "paragraph", "paragraph", "list", "lines", "lines"))
    if kind == "lines":
        foreign = chance.choice(LINES[dialect])
        return foreign, [line.strip() for line in foreign.split("\n") if line.strip()]
    if kind == "list":
        items = [_make_text(dialect, chance) for _ in range(chance.randint(1, 4))]
        margins = ["", *(chance.choice(("", "\t" if dialect is Dialect.LOGSEQ else "  ")) for _ in items[1:])]
        return "\n".join(f"{margin}- {text}" for margin, (text, _) in zip(margins, items, strict=True)), [
            span for _, spans in items for span in spans
        ]
    text, spans = _make_text(dialect, chance)
    return (f"## {text}" if kind == "heading" else text), spans


def _make_text(dialect: Dialect, chance: random.Random) -> tuple[str, list[str]]:
    """Words with foreign syntax between them."""
    spans = chance.choices(INLINE[dialect], k=chance.randint(0, 2))
    parts = [chance.choice(WORDS)]
    for span in spans:
        parts += [span, chance.choice(WORDS)]
    return " ".join([*parts, chance.choice(("**bold**", "*soft*", "`code`")), chance.choice(WORDS)]), spans


def outcomes_of(page: Page, read_as: Dialect, chance: random.Random) -> Iterator[Outcome]:
    """The outcome of each edit of *page*, read as one of the dialect *read_as*."""
    document = read_document(page.text, read_as)
    for name, edit in EDITS.items():
        content = deepcopy(document["content"])
        if not edit(content, chance):
            continue
        try:
            views = replace(_VIEWS, content=make_document(content))
            result = render(PageText(page.text, read_as), frozenset(["content"]), views, "Page").text
        except Damaged as refusal:
            yield Outcome(name, refusal=str(refusal))
            continue
        yield Outcome(name, [part for part, count in page.lines.items() if result.count(part) < count])


_Edit = Callable[[list[Node], random.Random], bool]


def _type_word(content: list[Node], chance: random.Random) -> bool:
    place = _find_word(content, chance)
    if place is None:
        return False
    node, at = place
    node["text"] = node["text"][:at] + " typed-word" + node["text"][at:]
    return True


def _find_word(content: Sequence[Node], chance: random.Random) -> tuple[Node, int] | None:
    """A text, and the end of one of WORDS in it."""
    places = [
        (node, node["text"].index(word) + len(word))
        for node in _texts(content)
        for word in WORDS
        if word in node["text"]
    ]
    return chance.choice(places) if places else None


def _texts(content: Sequence[Node]) -> Iterator[Node]:
    for node in content:
        if "text" in node:
            yield node
        yield from _texts(node.get("content") or [])


def _split(content: list[Node], chance: random.Random) -> bool:
    """Return is pressed behind a word of a paragraph."""
    for index in _shuffled(content, "paragraph", chance):
        children = content[index].get("content") or []
        texts = [at for at, child in enumerate(children) if any(word in child.get("text", "") for word in WORDS)]
        if not texts:
            continue
        at = chance.choice(texts)
        text = children[at]["text"]
        end = next(text.index(word) + len(word) for word in WORDS if word in text)
        before: list[Node] = [*children[:at], {**children[at], "text": text[:end]}]
        after: list[Node] = children[at + 1 :]
        if text[end:]:
            after = [{**children[at], "text": text[end:]}, *after]
        if after:
            content[index : index + 1] = [{"type": "paragraph", "content": part} for part in (before, after)]
            return True
    return False


def _shuffled(content: Sequence[Node], kind: str, chance: random.Random) -> list[int]:
    """The places of blocks of that kind with a word of WORDS, in any order."""
    places = [
        index
        for index, node in enumerate(content)
        if node["type"] == kind and any(word in text["text"] for text in _texts([node]) for word in WORDS)
    ]
    return chance.sample(places, len(places))


def _join(content: list[Node], chance: random.Random) -> bool:
    """The first of two paragraphs beside each other takes the text of the second."""
    places = [
        index
        for index in _shuffled(content, "paragraph", chance)
        if index + 1 in _shuffled(content, "paragraph", chance)
    ]
    if not places:
        return False
    parts = content[places[0]].get("content", []), content[places[0] + 1].get("content", [])
    content[places[0] : places[0] + 2] = [{"type": "paragraph", "content": [*parts[0], text_node(" "), *parts[1]]}]
    return True


def _turn_into(make: Callable[[Node], Node]) -> _Edit:
    def turn(content: list[Node], chance: random.Random) -> bool:
        places = _shuffled(content, "paragraph", chance)
        if not places:
            return False
        content[places[0]] = make(content[places[0]])
        return True

    return turn


def _move(content: list[Node], chance: random.Random) -> bool:
    if len(content) < 2:
        return False
    content.insert(chance.randrange(len(content)), content.pop(chance.randrange(len(content))))
    return True


def _copy(content: list[Node], chance: random.Random) -> bool:
    content.insert(chance.randint(0, len(content)), deepcopy(chance.choice(content)))
    return True


def _indent_item(content: list[Node], chance: random.Random) -> bool:
    """An item goes into the one above it."""
    for index in _shuffled(content, "bulletList", chance):
        items = content[index]["content"]
        if len(items) > 1:
            at = chance.randrange(1, len(items))
            items[at - 1].setdefault("content", []).append({"type": "bulletList", "content": [items.pop(at)]})
            return True
    return False


def _move_item(content: list[Node], chance: random.Random) -> bool:
    for index in _shuffled(content, "bulletList", chance):
        items = content[index]["content"]
        if len(items) > 1:
            items.insert(0, items.pop())
            return True
    return False


EDITS: Mapping[str, _Edit] = MappingProxyType(
    {
        "type a word": _type_word,
        "split a paragraph": _split,
        "join two paragraphs": _join,
        "paragraph to heading": _turn_into(lambda node: {**node, "type": "heading", "attrs": {"level": 2}}),
        "paragraph to quote": _turn_into(lambda node: {"type": "blockquote", "content": [node]}),
        "paragraph to list": _turn_into(
            lambda node: {"type": "bulletList", "content": [{"type": "listItem", "content": [node]}]}
        ),
        "move a block": _move,
        "copy a block": _copy,
        "indent an item": _indent_item,
        "move an item": _move_item,
    }
)
