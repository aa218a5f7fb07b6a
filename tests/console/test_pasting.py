"""Pasting and copying in a real browser: what other programs put on the clipboard becomes clean blocks of the file."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes, entry, ready, row_of
from tests.console.test_editor import PICTURE
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

PASTE = """async ([texts, files]) => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))  // the selection is known then
  const data = new DataTransfer()
  for (const [type, text] of Object.entries(texts)) data.setData(type, text)
  for (const [name, type, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name, { type }))
  document.querySelector('#page [role=textbox]')
    .dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data }))
}"""
# The browser never rests from now on: an editor that was left does not end.
KEEP_EDITORS = "void (window.requestIdleCallback = () => 0)"
File = tuple[str, str, bytes]


async def paste(somebody: Person, texts: Mapping[str, str], *files: File) -> None:
    """Paste what a program put on the clipboard: texts by their types, and files."""
    listed: list[list[Any]] = [[name, kind, list(data)] for name, kind, data in files]
    await somebody.page.evaluate(PASTE, [dict(texts), listed])


async def at_a_new_line(console: Console, person: NewPerson, name: str) -> Person:
    """A person in an empty paragraph below `start`."""
    save(console.mirrord.file(f"{name}.md"), "start\n")
    writer = await person()
    await writer.open(f"{name}.md")
    await writer.after("start")
    await writer.press("Enter")
    return writer


MARKDOWN = """# Title

- a
- [[Welcome]]

```js
let x = 1
```

| a | b |
|:--|--:|
| 1 | 2 |

> [!tip] Heed
> this and $x^2$

$$
y
$$

a note[^1] and [text](https://b.org)

[^1]: its text
"""


async def test_markdown_that_is_pasted_as_text_is_the_same_markdown_in_the_file(
    console: Console, person: NewPerson
) -> None:
    writer = await at_a_new_line(console, person, "Pasted Markdown")
    await paste(writer, {"text/plain": MARKDOWN})
    await writer.sees("Title")
    await writer.is_told("saved")

    written = MARKDOWN.replace("|:--|--:|", "| :-- | --: |")
    becomes(console.mirrord.file("Pasted Markdown.md"), f"start\n\n{written}")


async def test_markdown_goes_into_the_line_where_it_is_one_and_takes_the_place_of_what_is_selected(
    console: Console, person: NewPerson
) -> None:
    file = console.mirrord.file("Pasted inline.md")
    save(file, "one two three\n\n- item\n\n```\ncode\n```\n")
    writer = await person()
    await writer.open("Pasted inline.md")
    await writer.after("one two three")
    await writer.press("Home", *["ArrowRight"] * 4, *["Shift+ArrowRight"] * 3)
    await paste(writer, {"text/plain": "[[Welcome|deux]]"})
    await writer.sees("one deux three")
    await writer.type("!")
    await writer.text.get_by_text("code", exact=True).click()
    await writer.press("End")
    await writer.type(";")
    await paste(writer, {"text/plain": "\n# no **heading**"})
    await writer.is_told("saved")

    becomes(file, "one [[Welcome|deux]]! three\n\n- item\n\n```\ncode;\n# no **heading**\n```\n")


async def test_words_without_signs_and_what_is_pasted_with_shift_stay_words(
    console: Console, person: NewPerson
) -> None:
    writer = await at_a_new_line(console, person, "Pasted words")
    await paste(writer, {"text/plain": "only words, 3 * 4 = 12"})
    await writer.press("Enter")
    await writer.page.keyboard.down("Control")
    await writer.page.keyboard.down("Shift")
    await writer.page.keyboard.down("KeyQ")
    await paste(writer, {"text/plain": "**as it is**"})
    for key in ("KeyQ", "Shift", "Control"):
        await writer.page.keyboard.up(key)
    await writer.is_told("saved")

    becomes(
        console.mirrord.file("Pasted words.md"),
        "start\n\nonly words, 3 * 4 = 12\n\n\\*\\*as it is\\*\\*\n",
    )


async def test_front_matter_that_is_pasted_does_not_vanish(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "Pasted front matter")
    await paste(writer, {"text/plain": "---\ntags: [a]\n---\n# Whole file\n"})

    becomes(console.mirrord.file("Pasted front matter.md"), "start\n\n```yaml\ntags: [a]\n```\n\n# Whole file\n")


DOCS_STYLE = (
    "font-size:11pt;font-family:Arial,sans-serif;color:#000000;background-color:transparent;vertical-align:baseline"
)
GOOGLE_DOCS = f"""<meta charset='utf-8'><b style="font-weight:normal;" id="docs-internal-guid-1"><h1 dir="ltr"
style="line-height:1.38"><span style="font-weight:400;{DOCS_STYLE}">Doc title</span></h1><p dir="ltr"><span
style="{DOCS_STYLE};font-weight:400">plain </span><span style="{DOCS_STYLE};font-weight:700">bold</span><span
style="{DOCS_STYLE};font-style:italic;font-weight:400"> slanted</span><span style="{DOCS_STYLE}"> </span><a
href="https://a.org/"><span style="{DOCS_STYLE};text-decoration:underline;color:#1155cc">link</span></a></p><br />
<ul><li dir="ltr" aria-level="1"><p role="presentation"><span style="{DOCS_STYLE}">one</span></p></li><ul><li dir="ltr"
aria-level="2"><p role="presentation"><span style="{DOCS_STYLE}">two</span></p></li></ul></ul><div dir="ltr"><table
style="border:none"><colgroup><col width="100" /></colgroup><tbody><tr><td style="vertical-align:top"><p><span
style="{DOCS_STYLE}">a</span></p></td><td><p><span style="{DOCS_STYLE}">b</span></p></td></tr><tr><td><p><span
style="{DOCS_STYLE}">1</span></p><p><span style="{DOCS_STYLE}">more</span></p></td><td><p><span
style="{DOCS_STYLE}">2</span></p></td></tr></tbody></table></div></b><br class="Apple-interchange-newline">"""


async def test_a_document_of_google_docs_is_plain_markdown(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "From Docs")
    await paste(writer, {"text/html": GOOGLE_DOCS, "text/plain": "Doc title"})

    becomes(
        console.mirrord.file("From Docs.md"),
        "start\n\n# Doc title\n\nplain **bold** *slanted* [link](https://a.org/)\n\n- one\n  - two\n\n"
        "| a | b |\n| --- | --- |\n| 1<br>more | 2 |\n",
    )


def word_item(level: int, marker: str, words: str) -> str:
    return (
        f"<p class=MsoListParagraph style='margin-left:.5in;mso-list:l0 level{level} lfo1'><![if !supportLists]><span "
        f"style='mso-list:Ignore'>{marker}<span style='font:7.0pt \"Times New Roman\"'>&nbsp;&nbsp; </span></span>"
        f"<![endif]>{words}<o:p></o:p></p>"
    )


WORD = (
    "<html xmlns:o='urn:schemas-microsoft-com:office:office'><head><style>p.MsoNormal {margin:0}</style></head>"
    "<body lang=EN-US><!--StartFragment--><h2>Part<o:p></o:p></h2><p class=MsoNormal>"
    "<span style='font-family:\"Arial\"'>some <b>bold</b> words</span><o:p></o:p></p>"
    "<p class=MsoNormal><o:p>&nbsp;</o:p></p>"
    + word_item(1, "·", "one")
    + word_item(2, "o", "two")
    + word_item(1, "·", "three")
    + "<p class=MsoNormal>then<o:p></o:p></p>"
    + word_item(1, "1.", "first")
    + word_item(1, "2.", "second")
    + "<!--EndFragment--></body></html>"
)


async def test_a_document_of_word_is_plain_markdown(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "From Word")
    await paste(writer, {"text/html": WORD, "text/plain": "Part"})

    becomes(
        console.mirrord.file("From Word.md"),
        "start\n\n## Part\n\nsome **bold** words\n\n- one\n  - two\n- three\n\nthen\n\n1. first\n2. second\n",
    )


GITHUB = """<h2 tabindex="-1" dir="auto">Notes<a class="anchor" aria-hidden="true" href="#notes"><svg></svg></a></h2>
<ul class="contains-task-list"><li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" checked
disabled> done</li><li class="task-list-item"><input type="checkbox" disabled> open</li></ul>
<div class="highlight highlight-source-js"><pre><span class="pl-k">let</span> x
  = 1</pre><div class="zeroclipboard-container"><clipboard-copy><svg></svg></clipboard-copy></div></div>
<div class="markdown-alert markdown-alert-warning">
<p class="markdown-alert-title"><svg></svg>Warning</p><p>Hot.</p></div>
<p>so <math-renderer class="js-inline-math">$x^2$</math-renderer>
it<sup><a href="#fn-1" data-footnote-ref>1</a></sup></p>
<section data-footnotes class="footnotes"><h2 class="sr-only">Footnotes</h2><ol><li id="fn-1"><p>said <a
href="#fnref-1" data-footnote-backref>↩</a></p></li></ol></section>"""


async def test_a_page_of_github_keeps_its_tasks_code_callouts_formulas_and_footnotes(
    console: Console, person: NewPerson
) -> None:
    writer = await at_a_new_line(console, person, "From GitHub")
    await paste(writer, {"text/html": GITHUB, "text/plain": "Notes"})

    becomes(
        console.mirrord.file("From GitHub.md"),
        "start\n\n## Notes\n\n- [x] done\n- [ ] open\n\n```js\nlet x\n  = 1\n```\n\n"
        "> [!warning]\n> Hot.\n\nso $x^2$ it[^1]\n\n[^1]: said\n",
    )


VSCODE = """<meta charset='utf-8'><div style="color: #cccccc;background-color: #1f1f1f;font-family: Consolas,
'Courier New', monospace;font-weight: normal;font-size: 14px;line-height: 19px;white-space: pre;"><div><span
style="color: #569cd6;">def</span><span style="color: #cccccc;"> f():</span></div><div><span
style="color: #cccccc;">    return 1</span></div></div>"""
CODE = "def f():\n    return 1"


@pytest.mark.parametrize(("named", "language"), [(True, "python"), (False, "")])
async def test_code_of_vs_code_is_a_block_of_code(
    console: Console, person: NewPerson, named: bool, language: str
) -> None:
    name = f"From VS Code {named}"
    writer = await at_a_new_line(console, person, name)
    mode = {"vscode-editor-data": '{"version":1,"mode":"python"}'} if named else {}
    await paste(writer, {"text/html": VSCODE, "text/plain": CODE, **mode})

    becomes(console.mirrord.file(f"{name}.md"), f"start\n\n```{language}\n{CODE}\n```\n")


async def test_a_word_and_markdown_of_vs_code_are_no_code(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "Prose of VS Code")
    await paste(writer, {"text/html": VSCODE, "text/plain": "word", "vscode-editor-data": '{"mode":"python"}'})
    await writer.type(" and ")
    markdown = {"text/plain": "**bold**", "vscode-editor-data": '{"mode":"markdown"}', "text/html": VSCODE}
    await paste(writer, markdown)

    becomes(console.mirrord.file("Prose of VS Code.md"), "start\n\nword and **bold**\n")


EXCEL = """<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head><style><!--td {color:black}--></style></head>
<body><!--StartFragment--><table border=0 cellpadding=0 width=192 style='width:144pt'><col width=64 span=3>
<tr height=20><td height=20 width=64 class=xl65 style='font-weight:700'>Name</td><td colspan=2 class=xl65>Sum</td></tr>
<tr height=20><td height=20>a</td><td align=right x:num>1</td><td align=right x:num>2</td></tr></table>
<!--EndFragment--></body></html>"""


async def test_cells_of_excel_are_a_table_with_headings_and_no_picture(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "From Excel")
    await paste(writer, {"text/html": EXCEL, "text/plain": "Name\tSum"}, ("image.png", "image/png", PICTURE))

    becomes(
        console.mirrord.file("From Excel.md"),
        "start\n\n| Name | Sum |  |\n| --- | --: | --: |\n| a | 1 | 2 |\n",
    )


CELLS = """<table><tr><th>Item<th>Steps</tr><tr>
<td rowspan=2><p>first</p><p>second</p><td><ul><li>a<li>b</ul></tr><tr><td>
<h3>deep</h3><table><tr><td>in<td>ner</table></table>"""


async def test_a_table_of_a_web_page_never_becomes_json(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "Web table")
    await paste(writer, {"text/html": CELLS, "text/plain": "Item"})

    becomes(
        console.mirrord.file("Web table.md"),
        "start\n\n| Item | Steps |\n| --- | --- |\n| first<br>second | • a<br>• b |\n|  | deep<br>in<br>ner |\n",
    )


async def test_a_picture_copied_in_a_browser_is_a_file_of_the_tree(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "Copied image")
    html = '<meta charset="utf-8"><img src="https://a.org/img/a%20leaf.png?x=1" alt="green"/>'
    await paste(writer, {"text/html": html}, ("image.png", "image/png", PICTURE))

    picture = console.mirrord.file("assets/a leaf.png")
    becomes(console.mirrord.file("Copied image.md"), "start\n\n![a leaf](./assets/a%20leaf.png)\n")
    eventually(picture.exists, "the picture")
    assert picture.read_bytes() == PICTURE


async def test_pictures_written_out_in_html_become_files(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "Embedded image")
    address = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    html = f'<p>before <img src="{address}" alt="dots"> after</p><p>and <img src="file:///C:/x.png" alt="lost"></p>'
    await paste(writer, {"text/html": html, "text/plain": "before after"})

    file = console.mirrord.file("Embedded image.md")
    eventually(lambda: "![dots](" in file.read_text(), "the picture in the file")
    src = file.read_text().partition("![dots](")[2].partition(")")[0]
    becomes(file, f"start\n\nbefore ![dots]({src}) after\n\nand lost\n")
    eventually((file.parent / src).exists, "the picture")
    assert (file.parent / src).read_bytes() == PICTURE


async def test_files_that_are_dropped_together_have_a_paragraph_each_and_an_svg_is_a_picture(
    console: Console, person: NewPerson
) -> None:
    writer = await at_a_new_line(console, person, "Several files")
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="9" height="9"/></svg>'
    files: list[File] = [
        ("film.mp4", "video/mp4", b"film"),
        ("several.pdf", "application/pdf", b"%PDF-1.4 of several"),
        ("drawn.svg", "image/svg+xml", svg),
    ]
    await paste(writer, {}, *files)

    becomes(
        console.mirrord.file("Several files.md"),
        "start\n\n[film.mp4](./assets/film.mp4)\n\n[several.pdf](./assets/several.pdf)\n\n"
        "![drawn](./assets/drawn.svg)\n",
    )
    picture = writer.text.locator("img[alt=drawn]")
    await expect(picture).to_have_js_property("naturalWidth", 10, timeout=PATIENCE)  # it is asked for until it is there
    await expect(picture).to_be_visible()


async def test_a_picture_that_comes_late_takes_the_place_of_its_name(console: Console, person: NewPerson) -> None:
    save(console.mirrord.file("assets/late.png"), PICTURE)
    save(console.mirrord.file("Late picture.md"), "![late](assets/late.png)\n")
    console.mirrord.flush()
    reader = await person()
    refused = list[str]()

    async def refuse_at_first(route: Route) -> None:
        refused.append(route.request.url)
        await (route.fulfill(status=404, body="") if len(refused) <= 4 else route.continue_())

    await reader.page.route("**/file?*", refuse_at_first)
    await reader.open("Late picture.md")
    await expect(reader.text.locator(".chip")).to_have_text("▣ late")
    await expect(reader.text.get_by_alt_text("late")).to_have_js_property("naturalWidth", 10)

    await expect(reader.text.locator(".chip")).to_have_count(0)


async def test_what_is_copied_is_markdown_for_other_programs(console: Console, person: NewPerson) -> None:
    text = MARKDOWN.replace("|:--|--:|", "| :-- | --: |")
    save(console.mirrord.file("Copied.md"), text + "\n- [x] done\n  - [ ] open\n\n1. one\n2. **two *and* more**\n")
    writer = await person(permissions=["clipboard-read", "clipboard-write"])
    await writer.open("Copied.md")
    await writer.sees("and more")
    await writer.text.focus()
    await writer.press("Control+a", "Control+c")

    copied = await writer.page.evaluate("navigator.clipboard.readText()")
    assert copied == console.mirrord.file("Copied.md").read_text().rstrip("\n")


async def test_markdown_that_is_typed_becomes_what_it_says(console: Console, person: NewPerson) -> None:
    writer = await at_a_new_line(console, person, "Typed Markdown")
    await writer.type("so $x^2$, [text](http://b.org) and more[^1]")
    await writer.press("Enter")
    await writer.type("> [!tip] heed it")
    await writer.press("Enter", "Enter")
    await writer.type("$$y$$")
    await writer.press("Enter")
    await writer.type("| a | b |")
    await writer.press("Enter")
    await writer.type("1")

    becomes(
        console.mirrord.file("Typed Markdown.md"),
        "start\n\nso $x^2$, [text](http://b.org) and more[^1]\n\n> [!tip]\n> heed it\n\n$$\ny\n$$\n\n"
        "| a | b |\n| --- | --- |\n| 1 |  |\n\n[^1]:\n",
    )


async def test_a_text_that_arrives_when_its_page_was_left_is_no_draft_of_the_next_page(
    console: Console, person: NewPerson
) -> None:
    save(console.mirrord.file("Pasted late into.md"), "see [[Opened meanwhile]]\n\nwords\n")
    save(console.mirrord.file("Opened meanwhile.md"), "the next page\n")
    row_of(console.mirrord, "Opened meanwhile.md")
    writer = await person()
    await writer.open("Pasted late into.md")
    await ready(writer)
    is_left, is_answered = asyncio.Event(), asyncio.Event()

    async def answer_late(route: Route) -> None:
        answer = await route.fetch()
        await is_left.wait()
        await route.fulfill(response=answer)
        is_answered.set()

    await writer.page.route("**/api/document", answer_late)
    await writer.page.evaluate(KEEP_EDITORS)
    await writer.after("words")
    await paste(writer, {"text/plain": "# pasted **heading**"})
    await entry(writer, "Opened meanwhile").get_by_role("link").click()
    await writer.sees("the next page")
    is_left.set()
    await is_answered.wait()
    await expect(writer.page.locator("#save-state")).to_have_text("Saved", timeout=PATIENCE)
    await writer.open("Opened meanwhile.md")
    await ready(writer)

    await expect(writer.page.get_by_role("button", name="Continue with it")).to_have_count(0)
    assert console.mirrord.file("Opened meanwhile.md").read_text() == "the next page\n"
