"""The keys of a mapping's file that only mode `both` has."""

from collections.abc import Mapping as ByKey
from typing import Any

from mirrord.binding.mappings.mapping_names import checked_column
from mirrord.binding.mappings.write_rules import NEW_ID, NEXT, NOW, USUAL_NODES, Creation, Owner, Touch, WriteRules
from mirrord.errors import UserError

KEYS = {
    "binding": ("write",),
    "page": ("version", "touch", "delete", "create"),
    "body": ("version", "touch", "plain", "nodes", "create"),
}

Sections = ByKey[str, ByKey[str, Any]]


def read_write_rules(sections: Sections) -> WriteRules:
    """The rules in *sections* of a file in mode `both`."""
    page, body = sections["page"], sections["body"]
    if sections["binding"].get("write", "sql") != "sql":
        raise UserError('`binding.write` must be "sql" in mode "both": rows are written by UPDATE.')
    of_body = _read_touches("body", body)
    if of_body and "table" not in body:
        raise UserError("`body.version` and `body.touch` need `body.table`; the row of the page has `page.touch`.")
    _check_names_of_nodes(body.get("names", {}))
    return WriteRules(
        of_page=_read_touches("page", page),
        of_body=of_body,
        plain=_read_plain(body),
        nodes=USUAL_NODES | _read_nodes(body),
        owners=_read_owners(sections["front"]),
        removes_rows=_read_removal(page),
        creation=_read_creation(page, body),
    )


def refuse_write_keys(sections: Sections) -> None:
    """Raise UserError if *sections*, of a file in mode `in`, have keys about writing."""
    for name, keys in KEYS.items():
        for key in keys:
            if key in sections[name] and not (key == "write" and sections[name][key] == "none"):
                raise UserError(f'`{name}.{key}` is about writing the app, and needs `binding.mode = "both"`.')
    for key, value in sections["front"].items():
        if isinstance(value, dict) and value.get("own", Owner.IN) != Owner.IN:
            raise UserError(f'`front.{key}.own` is {value["own"]!r}, which needs `binding.mode = "both"`.')


def _read_touches(name: str, section: ByKey[str, Any]) -> tuple[Touch, ...]:
    values = section.get("touch", {})
    if not isinstance(values, dict):
        raise UserError(f'`{name}.touch` must be a table, such as {{ updated_at = "now" }}.')
    touches = [_read_touch(f"{name}.touch.{column}", column, value, (NOW, NEXT)) for column, value in values.items()]
    version = section.get("version", "xmin")
    if not isinstance(version, str):
        raise UserError(f"`{name}.version` must be the name of a column.")
    if version != "xmin":
        touches.append(Touch(checked_column(version, f"{name}.version"), NEXT))
    if len({touch.column for touch in touches}) < len(touches):
        raise UserError(f"`{name}.version` is in `{name}.touch`, too: name the column once.")
    return tuple(touches)


def _read_creation(page: ByKey[str, Any], body: ByKey[str, Any]) -> Creation | None:
    if "create" not in page:
        if "create" in body:
            raise UserError("`body.create` needs `page.create`, which may be empty: { }.")
        return None
    if "create" in body and "table" not in body:
        raise UserError("`body.create` needs `body.table`; the row of the page has `page.create`.")
    return Creation(_read_columns("page", page["create"]), _read_columns("body", body.get("create", {})))


def _read_columns(name: str, values: object) -> tuple[Touch, ...]:
    if not isinstance(values, dict):
        raise UserError(f'`{name}.create` must be a table, such as {{ created_at = "now" }}.')
    return tuple(
        _read_touch(f"{name}.create.{column}", column, value, (NOW, NEW_ID)) for column, value in values.items()
    )


def _read_touch(key: str, column: str, value: object, words: tuple[str, ...]) -> Touch:
    checked_column(column, key)
    if isinstance(value, str) and value in words:
        return Touch(column, value)
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == "'":
        return Touch(column, value[1:-1], is_constant=True)
    raise UserError(f'`{key}` must be "{words[0]}", "{words[1]}", or a constant in single quotes: "\'mirrord\'".')


def _read_plain(body: ByKey[str, Any]) -> str | None:
    plain = body.get("plain")
    if plain is None:
        return None
    if not isinstance(plain, str):
        raise UserError("`body.plain` must be the name of a column.")
    return checked_column(plain, "body.plain")


def _read_nodes(body: ByKey[str, Any]) -> frozenset[str]:
    nodes = body.get("nodes", [])
    if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
        raise UserError('`body.nodes` is a list of nodes and marks that the app\'s editor knows: ["taskList"].')
    return frozenset(nodes)


def _check_names_of_nodes(names: object) -> None:
    if isinstance(names, dict) and len(set(map(str, names.values()))) < len(names):
        raise UserError('`body.names` gives one name to several nodes, so mode "both" cannot tell them apart.')


def _read_owners(front: ByKey[str, Any]) -> dict[str, Owner]:
    owners = {}
    for key, value in front.items():
        text = value.get("own", Owner.BOTH) if isinstance(value, dict) else Owner.BOTH
        try:
            owners[key] = Owner(text)
        except ValueError:
            raise UserError(f"`front.{key}.own` is {text!r}: choose one of {', '.join(Owner)}.") from None
    return owners


def _read_removal(page: ByKey[str, Any]) -> bool:
    if "delete" not in page:
        return False
    if page["delete"] != "row":
        raise UserError('`page.delete` must be "row": the rows of deleted pages are removed.')
    if "deleted" in page:
        raise UserError("Choose either `page.deleted` or `page.delete`.")
    return True
