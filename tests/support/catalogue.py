"""The catalogue of mirrord's schema as text, so that two databases can be compared."""

import re
from collections.abc import Iterable

import psycopg

_COMMENT = re.compile(r"--[^\n]*")

# Each query returns the name of an object and what defines it. Rights are compared as granted, also those by default.
_QUERIES = {
    "schema": """
        SELECT nspname, nspowner::regrole, {nspacl,n,nspowner}, obj_description(oid, 'pg_namespace')
          FROM pg_namespace WHERE nspname = 'mirrord'
    """,
    "relation": """
        SELECT relname, relkind, relowner::regrole, relpersistence, relrowsecurity, relforcerowsecurity, reloptions,
               CASE relkind WHEN 'S' THEN {relacl,s,relowner} ELSE {relacl,r,relowner} END,
               CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) END, obj_description(oid, 'pg_class')
          FROM pg_class WHERE relnamespace = 'mirrord'::regnamespace AND relkind NOT IN ('i', 'I', 'c')
    """,
    "column": """
        SELECT attrelid::regclass || '.' || attname, row_number() OVER (PARTITION BY attrelid ORDER BY attnum),
               format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attidentity, attgenerated,
               attstorage, attstattarget,
               ARRAY(SELECT option FROM unnest(attoptions) AS option WHERE NOT starts_with(option, 'pg_') ORDER BY 1),
               pg_get_expr(adbin, adrelid), {attacl,c,relowner},
               col_description(attrelid, attnum)
          FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
          LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE relnamespace = 'mirrord'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
    """,
    "constraint": """
        SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid), convalidated,
               obj_description(oid, 'pg_constraint')
          FROM pg_constraint WHERE connamespace = 'mirrord'::regnamespace
    """,
    "index": """
        SELECT indexrelid::regclass, pg_get_indexdef(indexrelid), indisvalid, indisclustered, indisreplident,
               obj_description(indexrelid, 'pg_class')
          FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relnamespace = 'mirrord'::regnamespace
    """,
    "sequence": """
        SELECT seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle
          FROM pg_sequence JOIN pg_class ON oid = seqrelid WHERE relnamespace = 'mirrord'::regnamespace
    """,
    "function": """
        SELECT oid::regprocedure, pg_get_functiondef(oid), proowner::regrole, {proacl,f,proowner},
               obj_description(oid, 'pg_proc')
          FROM pg_proc WHERE pronamespace = 'mirrord'::regnamespace
    """,
    "trigger": """
        SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(pg_trigger.oid), tgenabled,
               obj_description(pg_trigger.oid, 'pg_trigger')
          FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
         WHERE relnamespace = 'mirrord'::regnamespace AND NOT tgisinternal
    """,
    "policy": """
        SELECT polrelid::regclass || '.' || polname, polcmd, polpermissive,
               ARRAY(SELECT role::regrole::text FROM unnest(polroles) AS role ORDER BY 1),
               pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid),
               obj_description(pg_policy.oid, 'pg_policy')
          FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE relnamespace = 'mirrord'::regnamespace
    """,
    "default rights": """
        SELECT concat_ws(' ', defaclrole::regrole, defaclobjtype), defaclacl
          FROM pg_default_acl WHERE defaclnamespace IN (0, 'mirrord'::regnamespace)
    """,
}
_RIGHTS = r"""ARRAY(SELECT concat_ws(' ', grantor::regrole, grantee::regrole, privilege_type, is_grantable)
    FROM aclexplode(coalesce(\1, acldefault('\2', \3))) ORDER BY 1)"""


def load_catalogue(dsn: str) -> dict[str, str]:
    """
    What defines each object of the schema, by its kind and name.

    Comments and spaces within functions are left out, and so are numbers of columns that were dropped and options of
    columns that the server sets itself (Postgres 15.20 gives them a pg_attver).
    """
    with psycopg.connect(dsn) as connection:
        connection.execute("SET search_path = pg_catalog")
        return {
            f"{kind} {name}": _join(definition)
            for kind, query in _QUERIES.items()
            for name, *definition in connection.execute(_insert_rights(query))
        }


def _insert_rights(query: str) -> bytes:
    return re.sub(r"\{(\w+),(\w),(\w+)\}", _RIGHTS, query).encode()


def _join(definition: Iterable[object]) -> str:
    return " | ".join(" ".join(_COMMENT.sub("", str(part)).split()) for part in definition)
