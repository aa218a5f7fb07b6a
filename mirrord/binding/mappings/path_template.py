"""Where the files of an app are on disk: a directory, and below it a path with columns of the file's row. Pure."""

import re
from collections.abc import Mapping as ByKey
from dataclasses import dataclass

from mirrord.binding.mappings.mapping_names import checked_column
from mirrord.errors import Damaged, UserError

_COLUMN = re.compile(r"\{([^{}]*)\}")
_KEY = "files.path"


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """directory: absolute, without columns. below: the path in it, with `{column}` for the value of a column."""

    directory: str
    below: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the path, each once."""
        return tuple(dict.fromkeys(_COLUMN.findall(self.below)))

    def path_of(self, values: ByKey[str, str | None]) -> str:
        """The path below the directory, by the *values* of its columns. Raises Damaged if one has none."""
        empty = [column for column in self.columns if not values.get(column)]
        if empty:
            raise Damaged(f"its column {empty[0]!r}, which is a part of its path, is empty")
        return _COLUMN.sub(lambda match: values[match[1]] or "", self.below)


def read_path_template(text: str) -> PathTemplate:
    """The template in *text*, such as `/srv/app/uploads/{path}`. Raises UserError if it is none."""
    beginning, brace, _ = text.partition("{")
    directory = beginning.rpartition("/")[0]
    if not brace or not directory.startswith("/") or not directory.strip("/") or ".." in text.split("/"):
        raise UserError(
            f'`{_KEY}` is {text!r}: use an absolute path with a column, such as "/srv/app/uploads/{{storage_path}}".'
        )
    template = PathTemplate(directory, text.removeprefix(f"{directory}/"))
    if "{" in _COLUMN.sub("", template.below) or "}" in _COLUMN.sub("", template.below):
        raise UserError(f"`{_KEY}` is {text!r}: each column is in braces of its own.")
    for column in template.columns:
        checked_column(column, _KEY)
    return template
