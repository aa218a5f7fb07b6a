from mirrord.markdown.schema.node_rules import IGNORED_ATTRIBUTES, NATIVE_ATTRIBUTES
from mirrord.markdown.schema.node_types import MARKS as MARK_TYPES
from mirrord.markdown.schema.node_types import NODES


def test_what_markdown_says_is_what_the_table_calls_native() -> None:
    table = {name: node.attributes for name, node in NODES.items()} | dict(MARK_TYPES)
    native = {name: {key for key, attribute in attrs.items() if attribute.native} for name, attrs in table.items()}

    assert {
        name: set(NATIVE_ATTRIBUTES.get(name, {})) | (IGNORED_ATTRIBUTES.get(name, frozenset()) & attrs.keys())
        for name, attrs in table.items()
    } == native
    assert NATIVE_ATTRIBUTES.keys() <= table.keys()
