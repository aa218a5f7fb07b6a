"""Documents that tests are about, real ones and ones that somebody made to do harm."""

import io
import zipfile
from pathlib import Path

REAL = Path(__file__).parents[2] / "cases" / "documents"
OFFICE = ("docx", "odt", "rtf", "epub")
HTML = (
    "<html><head><title>Field guide</title><script>alert(1)</script></head><body><h1>Field guide</h1>"
    "<p>An <em>opening</em> paragraph with <b>strong</b> words, na&iuml;ve caf\u00e9 <a href='https://example.org/a_b'>"
    "link</a>.</p><h2>Lists</h2><ul><li>apples<li>pears<ul><li>green<li>yellow</ul><li>plums</ul>"
    "<ol><li>one<li>two</ol><h2>Table</h2><table><tr><th>Name</th><th>Count</th></tr><tr><td>apple</td><td>3</td></tr></table>"
    "<p><img src='chart.png' alt='A chart'></p></body></html>"
)
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def archive(files: dict[str, bytes], *, compressed: bool = True) -> bytes:
    """A zip file that holds *files*."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as zip_file:
        for name, data in files.items():
            zip_file.writestr(name, data)
    return stream.getvalue()


def word(body: str) -> bytes:
    """A docx of which *body* is the XML between the tags of the body."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    return archive(
        {
            "[Content_Types].xml": (
                f'<Types xmlns="{types}"><Default Extension="xml" ContentType="application/xml"/>'
                f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'
            ).encode(),
            "_rels/.rels": (
                f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="{relation}" '
                'Target="word/document.xml"/></Relationships>'
            ).encode(),
            "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>".encode(),
        }
    )


def said(text: str) -> str:
    """A paragraph of a docx."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def sealed_word() -> bytes:
    """A docx behind a password, as office programs write one: not a zip file any more."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2000 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 500


def sealed_text() -> bytes:
    """An odt behind a password."""
    manifest = b"<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    mimetype = b"application/vnd.oasis.opendocument.text"
    return archive({"mimetype": mimetype, "content.xml": b"x", "META-INF/manifest.xml": manifest}, compressed=False)


def bomb() -> bytes:
    """A docx of some kilobytes that would unpack to a gigabyte."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zip_file:
        zip_file.writestr("word/document.xml", b"<w:document/>")
        with zip_file.open("word/media/image1.png", "w", force_zip64=True) as inner:
            piece = b"\0" * (1 << 20)
            for _ in range(64):
                inner.write(piece)
    return stream.getvalue()


def printed(drawn: str) -> bytes:
    """A PDF of one page on which *drawn*, operators of PDF, is drawn in the font F."""
    stream = drawn.encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n" + table
    return data + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start
