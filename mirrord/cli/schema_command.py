"""`mirrord schema`: print the JSON Schema of documents."""

import json

import click

from mirrord.markdown.schema.node_types import json_schema


@click.command()
def schema() -> None:
    """Print the JSON Schema of `page.content`. This is the document that an editor reads and writes."""
    click.echo(json.dumps(json_schema(), indent=2))
