"""The picture that `mirrord up` and `mirrord status` show."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mirrord.cli.output import strip_controls
from mirrord.domain.problem_advice import describe_unsynced, remedy_for_unsynced

Facts = Mapping[str, Any]

PIPE_COLUMNS = 160  # columns of a terminal; all of a tenant fits into a line
MAX_LIVE_TENANTS = 20  # in the live view; those with pending changes first
MAX_RECENT_CHANGES = 6  # recent changes shown
_COLOURS = {
    "in sync": "green",
    "working": "cyan",
    "needs you": "bright_yellow",
    "starting": "yellow",
    "not running": "red",
}
_WORK = {
    "scan": "looking at the whole tree",
    "import": "working through files and rows",
    "derive": "making documents",
    "command": "carrying out what was approved",
}
_URGENT_COUNTS = ("conflicts", "problems", "halts")


def facts_of_pulse(pulse: Facts) -> dict[str, Any]:
    """The heartbeat's facts about a tenant, with times in ISO 8601; None: not reported."""
    copied_names = ("files", "pending", "derived", "file_to_row", "row_to_file")
    recent = [
        {"at": iso_time(at), "direction": direction, "path": path} for at, direction, path in pulse.get("lately", ())
    ]
    last_changes = {name: iso_time(pulse.get(name)) for name in ("last_file_to_row", "last_row_to_file")}
    activity = {"lately": recent, "work": pulse.get("work", []), "not_synced": facts_of_unsynced(pulse.get("untaken"))}
    return {**{name: pulse.get(name) for name in copied_names}, **last_changes, **activity}


def facts_of_unsynced(untaken: Facts | None) -> dict[str, Any] | None:
    """Files that are neither pages nor attachments: {files, endings, example, sentence, remedy}; None: not known."""
    if untaken is None:
        return None
    endings, example = untaken["endings"], untaken["example"]
    sentence = describe_unsynced(endings, example) if endings else None
    help_ = remedy_for_unsynced(endings, untaken["attachments"]) if endings else None
    return {"files": untaken["files"], "endings": endings, "example": example, "sentence": sentence, "remedy": help_}


def iso_time(seconds: float | None) -> str | None:
    """Unix seconds as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds is not None else None


def render_board(facts: Facts, *, width: int, max_lines: int | None = None, with_recent: bool = True) -> RenderableType:
    """
    Render the whole status, the most urgent part first.

    facts: the result of `gather` of `mirrord status`; None in it is shown as "–". width: columns of the terminal.
    max_lines: maximum of tenants, of lines about long work and of lines about pending decisions; None: no maximum.
    with_recent: include the most recent changes.
    """
    parts: list[RenderableType] = [render_headline(facts)]
    if facts["tenants"]:
        parts += [Text(), render_tenants(facts["tenants"], max_lines, width)]
    work = list(_progress_lines(facts["tenants"]))
    parts += [Text(), *work[:max_lines]] if work else []
    reasons = [Text(f"! {strip_controls(sentence)}", style="yellow") for sentence in facts["degraded"]]
    parts += [Text(), *reasons] if reasons else []
    needs = list(_decision_lines(facts))
    if needs:
        parts += [Text(), *needs[:max_lines]]
    if max_lines is not None and len(needs) > max_lines:
        parts.append(Text(f"… and {len(needs) - max_lines} more: `mirrord status`", style="dim"))
    strangers = list(_unsynced_lines(facts["tenants"]))
    parts += [Text(), *strangers[:max_lines]] if strangers else []
    if with_recent and (recent_lines := list(islice(_recent_lines(facts["tenants"]), MAX_RECENT_CHANGES))):
        parts += [Text(), *recent_lines]
    return Group(*parts)


def render_headline(facts: Facts) -> Text:
    """The overall state in one line."""
    daemon, database = facts["daemon"], facts["database"]
    state = state_of(facts)
    version = f" {database['server_version']}" if database["server_version"] else ""
    kind = "embedded" if database["embedded"] else "at the DSN"
    server = f"Postgres{version}, {kind}" if database["outage"] is None else "Postgres out of reach"
    processes = daemon.get("processes")
    parts = f" with {len(processes)} engine processes" if processes else ""
    running = f"   process {daemon['pid']}{parts}, started {format_age(daemon['since'])}" if daemon["alive"] else ""
    return Text.assemble(("mirrord ", "bold"), (state, f"bold {_COLOURS[state]}"), f"   {server}{running}")


def state_of(facts: Facts) -> str:
    """The overall state. "in sync": nothing is pending, refused or halted, and every tree was scanned."""
    tenants = facts["tenants"]
    if not facts["daemon"]["alive"]:
        return "not running"
    if not facts["daemon"]["ready"]:
        return "starting"
    if any(tenant["pending"] or tenant["derived"] is False or tenant["work"] for tenant in tenants):
        return "working"
    needs_person = any(tenant["problems"] or tenant["halts"] or tenant["files"] is None for tenant in tenants)
    return "needs you" if needs_person or facts["database"]["outage"] is not None else "in sync"


def render_tenants(tenants: list[dict[str, Any]], max_rows: int | None, width: int) -> Table:
    """One line for each tenant, those that need a person first, with the columns that fit into *width*."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column("tenant", overflow="ellipsis", min_width=6)
    visible = sorted(tenants, key=_urgency)[:max_rows]
    columns = [
        (column, [column.cell(tenant) for tenant in visible]) for column in _COLUMNS if width >= column.min_width
    ]
    columns = [
        (column, cells) for column, cells in columns if not column.min_width or any(cell.plain != "–" for cell in cells)
    ]
    for column, _ in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for number, tenant in enumerate(visible):
        table.add_row(tenant["name"], *(cells[number] for _, cells in columns))
    if len(tenants) > len(visible):
        table.add_row(Text(f"… {len(tenants) - len(visible)} more", style="dim"))
    return table


def _urgency(tenant: Facts) -> tuple[bool, int, str]:
    """Sort key: tenants that need a person, then those with most pending changes, then by name."""
    is_well = not any(tenant[count] for count in _URGENT_COUNTS)
    return is_well, -(tenant["pending"] or 0), tenant["name"]


def _count_cell(count: int | None, style: str = "") -> Text:
    """A count; zero and unknown counts are dimmed."""
    return Text("–" if count is None else f"{count:,}", style=style if count else "dim")


def _size_cell(history: Facts | None) -> Text:
    """The size of the texts of earlier versions."""
    if history is None:
        return Text("–", style="dim")
    return Text(f"{history['bytes'] / (1 << 20):,.1f} MiB", style="" if history["bytes"] else "dim")


def _latency_cell(recent: Facts | None) -> Text:
    if recent is None:
        return Text("–", style="dim")
    return Text(f"{_format_milliseconds(recent['median'])} · {_format_milliseconds(recent['p99'])}")


def _format_milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}" if seconds >= 0.0095 else f"{seconds * 1000:.1f}"


@dataclass(frozen=True, slots=True)
class _Column:
    """min_width: minimum width of the terminal; 0: always shown. Other columns are hidden if all cells are unknown."""

    heading: str
    cell: Callable[[Facts], Text]
    min_width: int = 0


_COLUMNS = (
    _Column("files", lambda tenant: _count_cell(tenant["files"])),
    _Column("pages", lambda tenant: _count_cell(tenant["pages"]), 125),
    _Column("assets", lambda tenant: _count_cell(tenant["attachments"]), 125),
    _Column("records", lambda tenant: _count_cell(tenant["records"]), 125),
    _Column("trash", lambda tenant: _count_cell((tenant["trash"] or {}).get("files")), 125),
    _Column("history", lambda tenant: _size_cell(tenant["history"]), 125),
    _Column("waiting", lambda tenant: _count_cell(tenant["pending"], "cyan")),
    _Column("conflicts", lambda tenant: _count_cell(tenant["conflicts"], "bold yellow")),
    _Column("problems", lambda tenant: _count_cell(tenant["problems"], "bold yellow")),
    _Column("halts", lambda tenant: _count_cell(tenant["halts"], "bold red")),
    _Column("file → row", lambda tenant: Text(format_age(tenant["last_file_to_row"]))),
    _Column("p50 · p99 ms", lambda tenant: _latency_cell(tenant["file_to_row"]), 95),
    _Column("row → file", lambda tenant: Text(format_age(tenant["last_row_to_file"]))),
    _Column("p50 · p99 ms", lambda tenant: _latency_cell(tenant["row_to_file"]), 95),
)


def _decision_lines(facts: Facts) -> Iterator[Text]:
    """Lines about pending decisions with the command for each; halts come first."""
    order = {"halt": 0, "conflict": 1, "approval": 2, "problem": 3}
    for need in sorted(facts["attention"], key=lambda need: order[need["kind"]]):
        style = "bold red" if need["kind"] == "halt" else "bold yellow"
        line = Text.assemble((need["kind"], style), f" in {need['tenant']}: {strip_controls(need['sentence'])}")
        if need["remedy"]:
            line.append(f" → {need['remedy']}", style="cyan")
        yield line


def _progress_lines(tenants: list[dict[str, Any]]) -> Iterator[Text]:
    """Lines about the progress of long work."""
    for tenant in tenants:
        for job in tenant["work"]:
            done, total = job["done"], job["total"]
            progress = f"{done:,} of {total:,} ({done / total:.0%})" if total else f"{done:,}"
            yield Text(f"{tenant['name']}: {_WORK[job['what']]}: {progress}", style="cyan")


def _unsynced_lines(tenants: list[dict[str, Any]]) -> Iterator[Text]:
    """Lines about files that are not synced, and the setting that would include them. No action is required."""
    for tenant in tenants:
        unsynced = tenant["not_synced"]
        if unsynced is not None and unsynced["files"]:
            yield Text(
                f"{tenant['name']}: {strip_controls(unsynced['sentence'])} → {strip_controls(unsynced['remedy'])}",
                style="dim",
            )


def _recent_lines(tenants: list[dict[str, Any]]) -> Iterator[Text]:
    """The most recent changes of all tenants, the newest first."""
    changes = [(change["at"], tenant["name"], change) for tenant in tenants for change in tenant["lately"]]
    for at, name, change in sorted(changes, key=lambda entry: entry[0], reverse=True):
        clock = datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")
        yield Text.assemble((f"{clock}  {name}  {change['direction']}  ", "dim"), strip_controls(change["path"]))


def format_age(at: str | None) -> str:
    """The time since then, in the largest unit that fits."""
    if at is None:
        return "–"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{max(0, seconds):.0f} s ago"
