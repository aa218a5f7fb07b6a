"""Triggers that an app has on the pages of its tenant while a history is played: every fourth history has some."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.world import World

_TEXT = "INSERT OR UPDATE OF markdown ON mirrord.page"
# By name: when, and what the function does. `checked` alters the text of each write, `icon` answers it with an UPDATE
# of its own, `refusal` refuses one write in five, whoever writes.
TRIGGERS = {
    "checked": (
        f"BEFORE {_TEXT}",
        "IF NEW.markdown NOT LIKE '%Checked by the app.%' THEN "
        "NEW.markdown := rtrim(NEW.markdown, E'\\n') || E'\\n\\nChecked by the app.\\n'; END IF; RETURN NEW;",
    ),
    "icon": (
        f"AFTER {_TEXT}",
        "UPDATE mirrord.page SET icon = U&'\\+01F331' "
        "WHERE tenant_id = NEW.tenant_id AND id = NEW.id AND kind = 'page' AND icon IS NULL; RETURN NULL;",
    ),
    "refusal": (
        "BEFORE INSERT OR UPDATE OF markdown, name, parent_id, deleted_at ON mirrord.page",
        "IF random() < 0.2 THEN RAISE EXCEPTION 'The app refuses this now.'; END IF; RETURN NEW;",
    ),
}
_CREATE = """
CREATE FUNCTION public.{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;
CREATE TRIGGER {name} {moment} FOR EACH ROW WHEN (NEW.tenant_id = '{tenant}') EXECUTE FUNCTION public.{name}()"""


def trigger_of_seed(seed: int) -> str | None:
    """The name of the trigger of one history; None: it has none."""
    names = list(TRIGGERS)
    return names[seed // 4 % len(names)] if seed % 4 == 3 else None


@contextmanager
def created_trigger(world: World, name: str | None) -> Iterator[None]:
    """Within it the tenant has the trigger; no daemon of the tenant may run at its beginning."""
    if name is None:
        yield
        return
    moment, body = TRIGGERS[name]
    with world.cluster.administered() as connection:
        connection.execute(_CREATE.format(name=name, body=body, moment=moment, tenant=world.tenant).encode())
    try:
        yield
    finally:
        drop_trigger(world, name)


def drop_trigger(world: World, name: str | None) -> None:
    """Drop it; not an error if it is gone."""
    if name is not None:
        with world.cluster.administered() as connection:
            connection.execute(f"DROP FUNCTION IF EXISTS public.{name} CASCADE".encode())
