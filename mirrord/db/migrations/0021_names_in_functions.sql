-- Names in mirrord's functions do not depend on the caller: Postgres looks types and tables up in the caller's temporary
-- schema first, unless search_path lists that schema (docs/decisions/0038).
-- Functions with rights of their own run as mirrord_definer, which owns no table and may create nothing: mirrord_owner,
-- which may replace functions, is never the current role at run time.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_definer') THEN
        CREATE ROLE mirrord_definer NOLOGIN;
    END IF;
    -- From Postgres 16 on, a role that creates another one is its member, but may not act as it: USAGE is false then.
    IF NOT pg_has_role(current_user, 'mirrord_definer', 'USAGE') THEN
        EXECUTE format('GRANT mirrord_definer TO %I', current_user);
    END IF;
END
$$;

SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.by_mirrord() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT current_user IN ('mirrord_daemon', 'mirrord_definer', 'mirrord_owner') $$;

-- Decisions about approvals are written by mirrord_definer.
DO $$
DECLARE
    guard text;
BEGIN
    FOREACH guard IN ARRAY ARRAY['mirrord.approval_before()', 'mirrord.event_before()'] LOOP
        EXECUTE replace(pg_get_functiondef(guard::regprocedure), '''mirrord_owner''', '''mirrord_definer''');
    END LOOP;
END
$$;

-- Functions in SQL get a body that is parsed now, so that the planner still inlines them into policies, which it does not
-- if a function sets search_path. Functions in PL/pgSQL get the path.
DO $$
DECLARE
    known record;
    head text;
BEGIN
    FOR known IN
        SELECT proc.oid, proc.oid::regprocedure AS name, lang.lanname AS language, proc.prosrc AS body
          FROM pg_catalog.pg_proc AS proc JOIN pg_catalog.pg_language AS lang ON lang.oid = proc.prolang
         WHERE proc.pronamespace = 'mirrord'::regnamespace AND proc.prosqlbody IS NULL
         ORDER BY proc.oid
    LOOP
        IF known.language = 'sql' THEN
            head := split_part(pg_get_functiondef(known.oid), 'AS $function$', 1);
            EXECUTE head || ' BEGIN ATOMIC ' || known.body || '; END';
        ELSE
            EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', known.name);
        END IF;
    END LOOP;
END
$$;

-- mirrord_definer may read and write rows of the tenant that is set, and nothing else.
DO $$
DECLARE
    guarded record;
BEGIN
    FOR guarded IN
        SELECT relname, CASE relname WHEN 'tenant' THEN 'id' ELSE 'tenant_id' END AS own_key
          FROM pg_catalog.pg_class
         WHERE relnamespace = 'mirrord'::regnamespace AND relkind IN ('r', 'p') AND relrowsecurity
    LOOP
        EXECUTE format('CREATE POLICY definer ON mirrord.%I TO mirrord_definer USING (%I = mirrord.current_tenant()) '
                       'WITH CHECK (%I = mirrord.current_tenant())',
                       guarded.relname, guarded.own_key, guarded.own_key);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.%I TO mirrord_definer', guarded.relname);
    END LOOP;
END
$$;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA mirrord TO mirrord_definer;
GRANT USAGE, CREATE ON SCHEMA mirrord TO mirrord_definer;  -- CREATE: until it owns its functions

RESET ROLE;

-- keep_statistics keeps its owner: only the owner of a table may analyze it, and only the daemon may call the function.
DO $$
DECLARE
    known record;
BEGIN
    FOR known IN
        SELECT oid::regprocedure AS name FROM pg_catalog.pg_proc
         WHERE pronamespace = 'mirrord'::regnamespace AND prosecdef AND proname <> 'keep_statistics'
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO mirrord_definer', known.name);
    END LOOP;
END
$$;

SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;

-- Only triggers that run as mirrord_definer call it.
SET ROLE mirrord_definer;
REVOKE EXECUTE ON FUNCTION mirrord.ring FROM PUBLIC;
RESET ROLE;

-- The console acts as an app, with the login of the daemon.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 160000 THEN
        EXECUTE 'GRANT mirrord_app TO mirrord_daemon WITH INHERIT FALSE, SET TRUE';
    ELSE
        GRANT mirrord_app TO mirrord_daemon;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'mirrord_app was made by another role: GRANT mirrord_app TO mirrord_daemon for the console';
END
$$;
