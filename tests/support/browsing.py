"""A browser's half of HTTP, without a browser: requests to the console, with or without what a browser adds."""

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

PATIENCE_SECONDS = 60  # that an answer, or the next event of a stream, may take


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. headers: by lower-case name."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.data)

    @property
    def text(self) -> str:
        """The body, as text."""
        return self.data.decode()


@dataclass(slots=True)
class Browser:
    """Somebody's cookie, and the mark of their pages; url: of the console."""

    url: str
    cookie: str = ""
    mark: str = ""
    tenant: str = "demo"
    host: str = field(init=False)

    def __post_init__(self) -> None:
        self.host = urlsplit(self.url).netloc

    def sign_in(self, link: str) -> "Browser":
        """Follow a link, then look at a page for its mark."""
        answer = self.follow(link)
        assert answer.status == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        match = re.search(r'name="csrf" content="(\w+)"', self.ask("GET", f"/t/{self.tenant}/").text)
        assert match is not None
        self.mark = match[1]
        return self

    def follow(self, link: str) -> "Answer":
        """The answer to the form of a sign-in link; that to the link where it has none."""
        answer = self.ask("GET", link.removeprefix(self.url))
        match = re.search(r'name="token" value="([^"]+)"', answer.text)
        if match is None:
            return answer
        form = urlencode({"token": match[1]}).encode()
        return self.ask("POST", "/sign-in", form, content_type="application/x-www-form-urlencoded")

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        """
        One request. body: bytes as they are, anything else as JSON. headers: `x_csrf_token="…"` besides the usual
        ones, or instead of them; None: without that one.
        """
        usual: dict[str, str | None] = {"cookie": self.cookie or None}
        if method not in ("GET", "HEAD"):
            usual |= {"origin": self.url, "x-csrf-token": self.mark or None}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None and data is not body:
            usual["content-type"] = "application/json"
        all_headers = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(http.client.HTTPConnection(self.host, timeout=PATIENCE_SECONDS)) as connection:
            sent = {name: value for name, value in all_headers.items() if value is not None}
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            answer_headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, answer_headers, response.read())

    def get(self, path: str) -> Any:
        """What the tenant's API answers."""
        answer = self.ask("GET", f"/t/{self.tenant}/api/{path}")
        assert answer.status == 200, answer.text
        return answer.json

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """What a change of the tenant is answered with."""
        answer = self.ask(method, f"/t/{self.tenant}/api/{path}", {} if body is None else body)
        assert answer.status == status, f"{answer.status}: {answer.text}"
        return answer.json

    def upload(self, page: object, name: str, data: bytes, kind: str = "image/png") -> Answer:
        """A file brought to a page."""
        edge = "edge-of-the-parts"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        body = f"{head}Content-Type: {kind}\r\n\r\n".encode() + data + f"\r\n--{edge}--\r\n".encode()
        where = f"/t/{self.tenant}/api/pages/{page}/attachments"
        return self.ask("POST", where, body, content_type=f"multipart/form-data; boundary={edge}")

    def file(self, page: object, src: str) -> Answer:
        """The bytes that an image with this `src` shows in a page."""
        return self.ask("GET", f"/t/{self.tenant}/p/{page}/file?src={quote(src, safe='')}")

    @contextmanager
    def live(self, since: str | None = None, path: str | None = None) -> Iterator["Stream"]:
        """The stream of events."""
        with closing(http.client.HTTPConnection(self.host, timeout=PATIENCE_SECONDS)) as connection:
            headers = {"cookie": self.cookie} | ({"last-event-id": since} if since else {})
            connection.request("GET", path or f"/t/{self.tenant}/api/live", headers=headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            stream = Stream(response)
            stream.until("begin")
            yield stream


@dataclass(slots=True)
class Stream:
    """Server-sent events as they come."""

    response: http.client.HTTPResponse
    last: str | None = None

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name, data), without end; waits for each at most as long as the connection does."""
        name = ""
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("id: "):
                self.last = line.removeprefix("id: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))

    def until(self, name: str, **expected: Any) -> dict[str, Any]:
        """The first event of that name with that data."""
        for event, data in self.events():
            if event == name and all(data.get(key) == value for key, value in expected.items()):
                return data
        raise AssertionError(f"the stream ended without {name} {expected}")
