-- Roles, the schema, and the table of what was applied.
--
-- mirrord_owner    owns the tables and may not log in
-- mirrord_definer  owns the functions that run with rights of their own, owns no table, and may not log in
-- mirrord_daemon   mirrord logs in as this role
-- mirrord_app      apps log in as this role
DO $$
DECLARE
    role_name text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_owner') THEN
        CREATE ROLE mirrord_owner NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_definer') THEN
        CREATE ROLE mirrord_definer NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_daemon') THEN
        CREATE ROLE mirrord_daemon LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mirrord_app') THEN
        CREATE ROLE mirrord_app LOGIN;
    END IF;
    -- A role that migrates may act as these. From Postgres 16 on, a role that creates another one is its member, but
    -- may not act as it: USAGE is false then.
    FOREACH role_name IN ARRAY ARRAY['mirrord_owner', 'mirrord_definer', 'mirrord_daemon'] LOOP
        IF NOT pg_has_role(current_user, role_name, 'USAGE') THEN
            EXECUTE format('GRANT %I TO %I', role_name, current_user);
        END IF;
    END LOOP;
END
$$;

-- The console acts as an app, with the login of the operator or of the daemon.
DO $$
BEGIN
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT mirrord_app TO %I', current_user);
    END IF;
    IF current_setting('server_version_num')::integer >= 160000 THEN
        EXECUTE 'GRANT mirrord_app TO mirrord_daemon WITH INHERIT FALSE, SET TRUE';
    ELSE
        GRANT mirrord_app TO mirrord_daemon;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'GRANT mirrord_app TO %, mirrord_daemon for the console: another role created it', current_user;
END
$$;

CREATE SCHEMA IF NOT EXISTS mirrord;
ALTER SCHEMA mirrord OWNER TO mirrord_owner;
GRANT USAGE ON SCHEMA mirrord TO mirrord_daemon, mirrord_app, mirrord_definer;

DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = mirrord, public', current_database());
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'the search_path of this database is unchanged: only its owner may set it';
END
$$;

SET ROLE mirrord_owner;

-- One row for each applied file of db/migrations; a database that was created from these files has one row, with the
-- number of the newest migration and the name `schema`.
CREATE TABLE mirrord.migration (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

RESET ROLE;
