"""Documents and Markdown to try the codec on, with everything in them that could be taken for markup."""

from hypothesis import strategies as st

from mirrord.codec.document import Mark, Node, text_node
from mirrord.codec.normal import fingerprint, normal

Nodes = st.SearchStrategy[Node]

_FRAGMENTS = (
    "a,foo,B2,é,「,」,😀,\u00a0,\u200b,\u2028, ,  ,\t,\n"
    ",*,**,_,__,`,``,```,~~,~~~,==,$,$$,%%,^,^id,#,# ,#tag,- ,+ ,1. ,1) "
    ",> ,|,|-|,[,],(,),[[,]],![,[x],[ ] ,[^1],[^q]:,[!note],<,<b>,</u>,<!--,-->,&,&amp;,\\,!,---,===,***,:,.,\",',{,}"
    ",http://x.y/a_b*c,a@b.c"
)
fragments = st.sampled_from([*_FRAGMENTS.split(","), ","])
texts = st.lists(fragments, min_size=1, max_size=6).map("".join)
markdown = st.lists(
    st.one_of(
        fragments, st.sampled_from(["\n", "\n\n", "\r\n", "\n    ", "\n> ", "\n- ", "\n1. ", "[a]: b\n", "[^q]: n\n"])
    ),
    max_size=25,
).map("".join)

_hrefs = st.sampled_from(["x", "http://a.b/c?d=e&f=g", "a b", "(", "a)b", "<x>", "", "é.md", "a\\*b", "#h", "&amp;"])


def _link(href: str) -> Mark:
    return {"type": "link", "attrs": {"href": href}}


def _distinct(marks: list[Mark]) -> list[Mark]:
    return list({mark["type"]: mark for mark in marks}.values())


_NAMES = ("bold", "italic", "strike", "highlight", "code", "underline", "subscript", "superscript")
_mark = st.one_of(
    st.sampled_from([Mark(type=name) for name in _NAMES]),
    _hrefs.map(_link),
    st.just(Mark(type="colour", attrs={"value": '<">&|'})),
)
_marks = st.lists(_mark, max_size=3).map(_distinct)


def _node(name: str, content: list[Node], **attrs: object) -> Node:
    return {"type": name, "attrs": attrs, "content": content}  # type: ignore[typeddict-item]


def _atom(name: str, **attrs: object) -> Node:
    return {"type": name, "attrs": attrs}  # type: ignore[typeddict-item]


_atoms: Nodes = st.one_of(
    st.just(Node(type="hardBreak")),
    st.builds(lambda src, alt: _atom("image", src=src, alt=alt), _hrefs, st.sampled_from([None, "x", "a*b", "[y]"])),
    st.builds(
        lambda target, heading, alias: _atom("wikilink", target=target, heading=heading, alias=alias),
        st.sampled_from(["Page", "a b"]),
        st.sampled_from([None, "h"]),
        st.sampled_from([None, "shown"]),
    ),
    st.sampled_from(
        [
            _atom("embed", target="p.png", heading=None, alias=None),
            _atom("mathInline", latex="x^2"),
            _atom("mention", id="1", label='<é"|'),
            _atom("footnoteRef", label="q"),
            _atom("rawInline", raw="%%c%%"),
        ]
    ),
)
_text = st.builds(text_node, texts, _marks)
inline = st.lists(st.one_of(_text, _text, _text, _atoms), max_size=5)
paragraphs: Nodes = inline.map(lambda content: _node("paragraph", content))
_leaves: Nodes = st.one_of(
    paragraphs,
    paragraphs,
    st.builds(lambda level, content: _node("heading", content, level=level), st.integers(1, 6), inline),
    st.builds(
        lambda language, text: _node("codeBlock", [text_node(text)], language=language),
        st.sampled_from([None, "py", "a b"]),
        texts,
    ),
    st.sampled_from(
        [
            Node(type="horizontalRule"),
            _atom("mathBlock", latex="a\nb"),
            _atom("youtube", src="x", id="kept"),
            _atom("rawBlock", raw="<div>\n*a*\n</div>"),
        ]
    ),
)


def _table(width: int) -> Nodes:
    def row(name: str) -> Nodes:
        cells = inline.map(lambda content: _node(name, [_node("paragraph", content)]))
        return st.lists(cells, min_size=width, max_size=width).map(lambda content: _node("tableRow", content))

    rows = st.lists(row("tableCell"), max_size=2)
    return st.builds(lambda head, rest: _node("table", [head, *rest]), row("tableHeader"), rows)


def _containers(children: Nodes) -> Nodes:
    content = st.lists(children, min_size=1, max_size=3)
    items = st.lists(content.map(lambda blocks: _node("listItem", blocks)), min_size=1, max_size=3)
    task = st.builds(
        lambda checked, first, rest: _node("taskItem", [first, *rest], checked=checked),
        st.booleans(),
        paragraphs,
        st.lists(children, max_size=2),
    )
    callout = st.builds(
        lambda kind, fold, title, blocks: _node("callout", blocks, type=kind, fold=fold, title=title),
        st.sampled_from(["note", "my own"]),
        st.sampled_from(["", "-", "+"]),
        st.sampled_from(["", "A *title*"]),
        content,
    )
    return st.one_of(
        content.map(lambda blocks: _node("blockquote", blocks)),
        items.map(lambda blocks: _node("bulletList", blocks)),
        st.builds(lambda start, blocks: _node("orderedList", blocks, start=start), st.integers(0, 12), items),
        st.lists(task, min_size=1, max_size=3).map(lambda blocks: _node("taskList", blocks)),
        callout,
    )


blocks: Nodes = st.recursive(st.one_of(_leaves, st.integers(1, 3).flatmap(_table)), _containers, max_leaves=6)


documents: Nodes = st.lists(blocks, max_size=4).map(lambda content: {"type": "doc", "content": content})


def meaning(node: Node) -> str:
    """Equal for nodes that mean the same."""
    return fingerprint(normal(node))
