-- Roles and the schema. Tables belong to mirrord_owner, which cannot log in; nobody works as superuser.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_owner') THEN
        CREATE ROLE mirrord_owner NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_daemon') THEN
        CREATE ROLE mirrord_daemon LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_app') THEN
        CREATE ROLE mirrord_app LOGIN;
    END IF;
    -- Whoever migrates may act as both: a superuser already may.
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT mirrord_owner, mirrord_daemon TO %I', current_user);
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS mirrord;
ALTER SCHEMA mirrord OWNER TO mirrord_owner;
GRANT USAGE ON SCHEMA mirrord TO mirrord_daemon, mirrord_app;

DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = mirrord, public', current_database());
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'the search_path of this database stays as it is: only its owner may set it';
END
$$;

SET ROLE mirrord_owner;

CREATE TABLE mirrord.migration (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION mirrord.no_tenant() RETURNS uuid
    LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RAISE EXCEPTION 'mirrord.tenant is not set'
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Connect with the string that `mirrord dsn` prints, or begin the transaction '
                     'with SET LOCAL mirrord.tenant = ''…''.';
END
$$;

-- The tenant of this transaction. Raises when it is unset or '': a forgotten setting is an error, never "this
-- tenant is empty". In SQL, so that it is inlined: policies and guards ask for it some twenty times a row.
CREATE FUNCTION mirrord.current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
SELECT CASE WHEN coalesce(current_setting('mirrord.tenant', true), '') = '' THEN mirrord.no_tenant()
            ELSE current_setting('mirrord.tenant')::uuid END
$$;

-- Whether the statement is written by mirrord itself, which keeps derived columns, and not by an app.
CREATE FUNCTION mirrord.by_mirrord() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT current_user IN ('mirrord_daemon', 'mirrord_owner') $$;

-- Who writes: {"kind", "name"}; set with SET LOCAL mirrord.actor.
CREATE FUNCTION mirrord.current_actor() RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
SELECT coalesce(nullif(current_setting('mirrord.actor', true), '')::jsonb,
                jsonb_build_object('kind', 'app', 'name', session_user))
$$;

-- The channel on which a tenant's doorbell rings.
CREATE FUNCTION mirrord.channel(tenant uuid) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT 'mirrord_' || left(replace(tenant::text, '-', ''), 16) $$;

RESET ROLE;
