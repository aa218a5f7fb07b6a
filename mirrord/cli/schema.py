"""`mirrord schema`: what documents are made of."""

import json

import click

from mirrord.codec.json_schema import json_schema


@click.command()
def schema() -> None:
    """Print the JSON Schema of `page.content`, the document an editor reads and writes."""
    click.echo(json.dumps(json_schema(), indent=2))
