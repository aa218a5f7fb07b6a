"""Documents and Markdown to try the codec on, with everything in them that could be taken for markup."""

from hypothesis import strategies as st

from mirrord.markdown.schema.document import Mark, Node, text_node
from mirrord.markdown.schema.normal_form import fingerprint, normalize

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
_SPECIAL_MARKS: tuple[Mark, ...] = (
    {"type": "highlight", "attrs": {"color": "#ffcc00"}},
    {"type": "highlight", "attrs": {"color": 'a;"b'}},
    {"type": "textStyle", "attrs": {"color": "red", "fontSize": "12px", "backgroundColor": None}},
    {"type": "textStyle", "attrs": {"fontFamily": "Times New Roman, 'x'", "backgroundColor": "rgb(1, 2, 3)"}},
    {"type": "textStyle", "attrs": {"color": "red", "lineHeight": "2"}},
    {"type": "textStyle", "attrs": {"color": None}},
    {"type": "link", "attrs": {"href": "x", "target": "_self", "rel": None}},
    {"type": "link", "attrs": {"href": "mention:x"}},
    {"type": "bold", "attrs": {"weight": 600}},
    {"type": "code", "attrs": {"kind": "key"}},
    {"type": "colour", "attrs": {"value": '<">&|'}},
    {"type": "remark", "attrs": {"thread": 1}},
)
_mark = st.one_of(
    st.sampled_from([Mark(type=name) for name in _NAMES]), _hrefs.map(_link), st.sampled_from(_SPECIAL_MARKS)
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
            _atom("mention", id="a(b", label=None),
            _atom("mention", id="a b\n", label="[x]", kind="person"),
            _atom("image", src="x", alt=None, width=300),
            _atom("wikilink", target="P", heading=None, alias=None, exists=False),
            _atom("mathInline", latex="x|y", display=True),
            _atom("sticker", sort="--><|"),
            _atom("footnoteRef", label="q"),
            _atom("rawInline", raw="%%c%%"),
        ]
    ),
)
_text = st.builds(text_node, texts, _marks)
inline = st.lists(st.one_of(_text, _text, _text, _atoms), max_size=5)
_attributes = st.sampled_from(
    [{}, {}, {}, {}, {}, {"textAlign": "center"}, {"x": ["-->", {"y": None}]}, {"textAlign": "left", "id": "an id"}]
)
paragraphs: Nodes = st.builds(
    lambda content, attributes: _node("paragraph", content, **attributes), inline, _attributes
)
_leaves: Nodes = st.one_of(
    paragraphs,
    paragraphs,
    st.builds(
        lambda level, content, attributes: _node("heading", content, level=level, **attributes),
        st.integers(0, 7),
        inline,
        _attributes,
    ),
    st.builds(
        lambda language, text: _node("codeBlock", [text_node(text)], language=language),
        st.sampled_from([None, "py", "a b"]),
        texts,
    ),
    st.sampled_from(
        [
            Node(type="horizontalRule"),
            _atom("horizontalRule", wide=True),
            _atom("mathBlock", latex="a\nb"),
            _atom("mathBlock", latex="a\n\nb"),
            _atom("image", src="block.png", alt="x"),
            _atom("codeBlock", language="py", lines=True),
            _node("codeBlock", [text_node("\n")], language="tiptap-node"),
            _node("bulletList", [_node("paragraph", [text_node("no item")])]),
            _node("taskItem", [_node("paragraph", [text_node("no list")])], checked=True),
            _node("paragraph", [_node("paragraph", [])]),
            _node("details", [_node("detailsContent", [])]),
            _node("footnoteDef", [_node("paragraph", [text_node("a")])], label="a b"),
            _atom("youtube", src="x", id="kept"),
            _atom("rawBlock", raw="<div>\n*a*\n</div>"),
        ]
    ),
)


_cell_attrs = st.sampled_from(
    [{}, {}, {}, {"align": "right"}, {"align": "left", "colwidth": [10]}, {"background": "|-->"}, {"colspan": 1}]
)
_merged = st.sampled_from([{}] * 9 + [{"colspan": 2}])


def _table(width: int) -> Nodes:
    cell = st.builds(
        lambda name, content, attributes, merged: _node(name, [content], **{**attributes, **merged}),
        st.sampled_from(["tableCell", "tableCell", "tableHeader"]),
        paragraphs,
        _cell_attrs,
        _merged,
    )

    def row(cells: Nodes) -> Nodes:
        return st.lists(cells, min_size=width, max_size=width).map(lambda content: _node("tableRow", content))

    header = row(paragraphs.map(lambda content: _node("tableHeader", [content])))
    rows = st.lists(row(cell), max_size=2)
    return st.builds(
        lambda head, body_rows, attributes: _node("table", [head, *body_rows], **attributes),
        st.one_of(header, row(cell)),
        rows,
        _attributes,
    )


def _containers(children: Nodes) -> Nodes:
    content = st.lists(children, min_size=1, max_size=3)
    item = st.builds(
        lambda blocks, attributes: _node("listItem", blocks, **attributes), st.lists(children, max_size=3), _attributes
    )
    items = st.lists(item, min_size=1, max_size=3)
    task = st.builds(
        lambda checked, blocks, attributes: _node("taskItem", blocks, checked=checked, **attributes),
        st.booleans(),
        st.lists(children, max_size=2),
        _attributes,
    )
    callout = st.builds(
        lambda kind, fold, title, blocks, attributes: _node(
            "callout", blocks, type=kind, fold=fold, title=title, **attributes
        ),
        st.sampled_from(["note", "my own", "a]b"]),
        st.sampled_from(["", "-", "+"]),
        st.sampled_from(["", "A *title*"]),
        content,
        _attributes,
    )
    details = st.builds(
        lambda opened, summary, blocks: _node(
            "details", [_node("detailsSummary", summary), _node("detailsContent", blocks)], open=opened
        ),
        st.booleans(),
        inline,
        content,
    )
    footnote = st.builds(
        lambda label, blocks: _node("footnoteDef", blocks, label=label), st.sampled_from(["q", "a.b"]), content
    )
    return st.one_of(
        st.builds(lambda blocks, attributes: _node("blockquote", blocks, **attributes), content, _attributes),
        st.builds(lambda blocks, attributes: _node("bulletList", blocks, **attributes), items, _attributes),
        st.builds(lambda start, blocks: _node("orderedList", blocks, start=start), st.integers(0, 12), items),
        st.lists(task, min_size=1, max_size=3).map(lambda blocks: _node("taskList", blocks)),
        callout,
        details,
        footnote,
    )


blocks: Nodes = st.recursive(st.one_of(_leaves, st.integers(1, 3).flatmap(_table)), _containers, max_leaves=6)


documents: Nodes = st.lists(blocks, max_size=4).map(lambda content: {"type": "doc", "content": content})


def meaning(node: Node) -> str:
    """Equal for nodes that mean the same."""
    return fingerprint(normalize(node))
