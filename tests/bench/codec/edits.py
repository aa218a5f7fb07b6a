"""One random edit of a document, as an editor makes it."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType

from mirrord.markdown.schema.document import Node, text_node

_LISTS = frozenset(["bulletList", "orderedList", "taskList"])
_WORDS = (
    "word,two words,*,**b**,_,`,[x],[[Page]],<b>,&amp;,\\,#,# h,- i,1. n,> q,| c,---,~~,==,$,$x$,%%,![,!,:"
    ",é,😀,\u00a0, ,  ,(,),http://a.b/c_d,^id,[^1],+,=,\t,「,***,]:"
).split(",")


@dataclass(frozen=True, slots=True)
class Edit:
    """
    What to do with a document.

    places: the indices of old top-level blocks in their new order; None is a new or changed one.
    moves: how many old blocks change their place.
    """

    content: Sequence[Node]
    places: Sequence[int | None]
    moves: int = 0


def edit(kind: str, content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit | None:
    """An edit of KINDS, None where *content* has nothing for it. *foreign*: blocks of another page."""
    return KINDS[kind](content, foreign, chance)


def _insert(content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit:
    place = chance.randint(0, len(content))
    order = [*range(place), None, *range(place, len(content))]
    return Edit([*content[:place], _new_block(foreign, chance), *content[place:]], order)


def _replace(content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit | None:
    return _with(content, chance.randrange(len(content)), _new_block(foreign, chance)) if content else None


def _delete(content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit | None:
    if not content:
        return None
    place = chance.randrange(len(content))
    order = [*range(place), *range(place + 1, len(content))]
    return Edit([*content[:place], *content[place + 1 :]], order)


def _move(content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit | None:
    if len(content) < 2:
        return None
    order = list(range(len(content)))
    order.insert(chance.randrange(len(content)), order.pop(chance.randrange(len(content))))
    return Edit([content[index] for index in order], order, moves=1)


def _change(content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit | None:
    places = [index for index, node in enumerate(content) if any(_texts(node))]
    if not places:
        return None
    place = chance.choice(places)
    node = deepcopy(content[place])
    _type_into(node, chance)
    return _with(content, place, node)


def _inside(names: frozenset[str], first: int) -> Mapping[str, Callable[..., Edit | None]]:
    """Edits of the children of nodes called *names*, but for the *first* ones: change, insert, delete, move."""

    def within(act: Callable[[list[Node], Sequence[Node], random.Random], bool]) -> Callable[..., Edit | None]:
        def inner(content: Sequence[Node], foreign: Sequence[Node], chance: random.Random) -> Edit | None:
            places = [index for index, node in enumerate(content) if any(_parents(node, names, first))]
            if not places:
                return None
            place = chance.choice(places)
            node = deepcopy(content[place])
            children = chance.choice(list(_parents(node, names, first)))["content"]
            inner_part = children[first:]
            if not act(inner_part, foreign, chance):
                return None
            children[first:] = inner_part
            return _with(content, place, node)

        return inner

    return {name: within(act) for name, act in _ACTS.items()}


def _change_child(children: list[Node], foreign: Sequence[Node], chance: random.Random) -> bool:
    return _type_into(chance.choice(children), chance)


def _insert_child(children: list[Node], foreign: Sequence[Node], chance: random.Random) -> bool:
    new = deepcopy(chance.choice(children))
    _type_into(new, chance)
    children.insert(chance.randint(0, len(children)), new)
    return True


def _delete_child(children: list[Node], foreign: Sequence[Node], chance: random.Random) -> bool:
    if len(children) < 2:
        return False
    del children[chance.randrange(len(children))]
    return True


def _move_child(children: list[Node], foreign: Sequence[Node], chance: random.Random) -> bool:
    if len(children) < 2:
        return False
    children.insert(chance.randrange(len(children)), children.pop(chance.randrange(len(children))))
    return True


_ACTS = {"change": _change_child, "insert": _insert_child, "delete": _delete_child, "move": _move_child}

KINDS: Mapping[str, Callable[..., Edit | None]] = MappingProxyType(
    {
        "insert a block": _insert,
        "replace a block": _replace,
        "delete a block": _delete,
        "move a block": _move,
        "change a block": _change,
        **{f"{name} an item": act for name, act in _inside(_LISTS, 0).items()},
        **{f"{name} a row": act for name, act in _inside(frozenset(["table"]), 1).items()},
    }
)


def _with(content: Sequence[Node], place: int, node: Node) -> Edit:
    order = [*range(place), None, *range(place + 1, len(content))]
    return Edit([*content[:place], node, *content[place + 1 :]], order)


def _new_block(foreign: Sequence[Node], chance: random.Random) -> Node:
    if foreign and chance.random() < 0.7:
        return deepcopy(chance.choice(foreign))
    text = "".join(chance.choice(_WORDS) for _ in range(chance.randint(1, 8)))
    return {"type": "paragraph", "content": [text_node(text)]}


def _type_into(node: Node, chance: random.Random) -> bool:
    """A few characters typed somewhere into a text of *node*."""
    texts = list(_texts(node))
    if not texts:
        return False
    text = chance.choice(texts)
    place = chance.randint(0, len(text["text"]))
    text["text"] = text["text"][:place] + chance.choice(_WORDS) + text["text"][place:]
    return True


def _texts(node: Node) -> Iterator[Node]:
    if node["type"] == "text":
        yield node
    for child in node.get("content", []):
        yield from _texts(child)


def _parents(node: Node, names: frozenset[str], first: int) -> Iterator[Node]:
    if node["type"] in names and len(node.get("content", [])) > first:
        yield node
    for child in node.get("content", []):
        yield from _parents(child, names, first)
