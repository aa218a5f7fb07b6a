"""Addresses of an app as links to files, and back: nothing else changes, and nothing is lost on the way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.binding.links.link_texts import lost_ids, pair_addresses, targets_of, with_addresses, with_files
from mirrord.binding.mappings.link_rules import LinkRules, read_link_rules
from mirrord.errors import UserError
from mirrord.markdown.frontmatter.page_text import PageText
from tests.support.laws import scale_examples

RULES, ABSOLUTE = LinkRules("/pages/{id}"), LinkRules("https://wiki.example/p/{id}/view")
FILES = {"1": "Beans.md", "2": "../My garden (old)/Soil & sand.md", "ä": "No.md", "a-7": "Über.md"}


def converted(text: str, rules: LinkRules = RULES) -> str:
    return with_files(PageText(text), rules, FILES).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[a](/pages/1)", "[a](Beans.md)"),
        ('[a](/pages/1#part "Title")', '[a](Beans.md#part "Title")'),
        ("[a](/pages/2)", "[a](../My%20garden%20%28old%29/Soil%20&%20sand.md)"),
        ("[a](</pages/2>)", "[a](<../My garden (old)/Soil & sand.md>)"),
        ("[a]\n\n[a]: /pages/1\n", "[a]\n\n[a]: Beans.md\n"),
        ('<a href="/pages/1">a</a>', '<a href="Beans.md">a</a>'),
        ("[a](/pages/99)", "[a](/pages/99)"),
        ("[a](/pages/1?tab=2)", "[a](/pages/1?tab=2)"),
        ("[a](/pages/1/edit)", "[a](/pages/1/edit)"),
        ("[a](/pages/%31)", "[a](/pages/%31)"),
        ("`[a](/pages/1)`", "`[a](/pages/1)`"),
        ("![a](/pages/1)", "![a](/pages/1)"),
        ("[a](/pages/1) [b](Beans.md)", "[a](/pages/1) [b](Beans.md)"),
        ("[a](/pages/1) [b](/pages/%31)", "[a](/pages/1) [b](/pages/%31)"),
        ("/pages/1 and [b](pages/1)", "/pages/1 and [b](pages/1)"),
    ],
)
def test_an_address_of_a_page_is_a_link_to_its_file(before: str, after: str) -> None:
    assert converted(before) == after


def test_an_address_with_a_host_is_one_too() -> None:
    text = "[a](https://wiki.example/p/1/view#x) [b](https://wiki.example/p/1) [c](https://else.example/p/1/view)"
    expected = "[a](Beans.md#x) [b](https://wiki.example/p/1) [c](https://else.example/p/1/view)"
    assert converted(text, ABSOLUTE) == expected


destinations = st.sampled_from(
    "/pages/1 </pages/2> /pages/a-7#h /pages/3 Beans.md <Beans.md> /pages/%31 https://wiki.example/p/1/view "
    "../My%20garden%20%28old%29/Soil%20&%20sand.md /pages/1?x Über.md %C3%9Cber.md #h <>".split()
)
pieces = st.one_of(
    st.builds("[a]({})".format, destinations),
    st.builds('[b]({} "t")'.format, destinations),
    st.builds("\n\n[r]: {}\n\n".format, destinations),
    st.builds('<a href="{}">x</a>'.format, destinations),
    st.builds("![i]({})".format, destinations),
    st.sampled_from(
        ["text ", "\n", "\n\n", "`", "```\n", "> ", "- ", "| a | b |\n|---|---|\n", "[", "]", "[r]", "*", "<!--", "\\"]
    ),
    st.text("ab[]()<>#%\\/\n ", max_size=6),
)


@settings(max_examples=scale_examples(400), deadline=None)
@given(st.lists(pieces, max_size=12).map("".join), st.sampled_from([RULES, ABSOLUTE]))
def test_links_of_an_app_come_back_byte_for_byte(text: str, rules: LinkRules) -> None:
    page, files = PageText(text), {key: path for key, path in FILES.items() if rules.address_of(key)}
    linked = with_files(page, rules, files)
    addresses = {path: rules.address_of(key) or "" for key, path in files.items()}
    assert with_addresses(linked, rules, addresses, targets_of(page, rules).literal).text == text
    assert with_files(linked, rules, files).text == linked.text


def test_links_of_a_page_are_paired_with_those_of_the_app_whatever_became_of_their_files() -> None:
    body, page = (targets_of(PageText(text), RULES) for text in ("[a](/pages/1) [b](x.md)", "[a](Gone.md) [b](x.md)"))
    assert pair_addresses(page, body, RULES) == {"Gone.md": "/pages/1"}
    assert lost_ids(body, page) == ["1"]
    assert pair_addresses(targets_of(PageText("[a](Gone.md)"), RULES), body, RULES) == {}


@pytest.mark.parametrize("url", ["/pages/{id}", "https://wiki.example/{id}", "/{id}"])
def test_the_address_of_a_page_may_have_a_host(url: str) -> None:
    assert read_link_rules({"url": url}) == LinkRules(url)


@pytest.mark.parametrize(
    "url", [None, 7, "", "pages/{id}", "/pages", "/{id}/{id}", "/p?id={id}", "/p#{id}", "javascript:{id}", "/a b/{id}"]
)
def test_another_address_is_refused(url: object) -> None:
    with pytest.raises(UserError, match=r"`links.url` must be the address"):
        read_link_rules({"url": url})
