-- Settings of a transaction: tenant, actor, writing mirror.
--
-- A name in a function must not depend on the caller (docs/decisions/0038). A function in PL/pgSQL therefore sets
-- search_path. A function in SQL has a body that was parsed when the function was created; it sets no search_path,
-- because the planner could not inline it then.
SET ROLE mirrord_owner;

-- Raises if the setting of the tenant is ''. It looks for itself, because a cluster also calls what a CASE passes over.
CREATE FUNCTION mirrord.no_tenant(setting text) RETURNS uuid
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF setting <> '' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'mirrord.tenant is not set'
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Connect with the string that `mirrord dsn` prints, or begin the transaction '
                     'with SET LOCAL mirrord.tenant = ''…''.';
END
$$;

-- The tenant of this transaction. Raises if the setting is missing or '': a forgotten setting is an error, not an empty
-- tenant. In SQL, so that the planner inlines it: policies and guards call it about twenty times a row.
CREATE FUNCTION mirrord.current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN coalesce(current_setting('mirrord.tenant', true), '') = ''
                THEN mirrord.no_tenant(coalesce(current_setting('mirrord.tenant', true), ''))
                ELSE current_setting('mirrord.tenant')::uuid END;
END;

-- Whether mirrord itself writes, which maintains derived columns, and not an app.
CREATE FUNCTION mirrord.by_mirrord() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT current_user IN ('mirrord_daemon', 'mirrord_definer', 'mirrord_owner');
END;

-- Whether a trigger of an app writes with the rights of mirrord's daemon: as an app, which gives texts no digest.
CREATE FUNCTION mirrord.by_trigger_of_app() RETURNS boolean
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT current_user = 'mirrord_daemon' AND pg_trigger_depth() > 1;
END;

-- The author of the write: {"kind", "name"}; set with SET LOCAL mirrord.actor.
CREATE FUNCTION mirrord.current_actor() RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(nullif(current_setting('mirrord.actor', true), '')::jsonb,
                    jsonb_build_object('kind', 'app', 'name', session_user));
END;

-- The mirror that holds its lease in this transaction (hold_lease). The setting is checked, as an app may set it, and
-- without CASE: Citus evaluates both of its branches, and a session that held a lease before has the setting ''.
CREATE FUNCTION mirrord.writing_mirror() RETURNS uuid
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT substring(current_setting('mirrord.mirror', true)
                     FROM '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
END;
REVOKE EXECUTE ON FUNCTION mirrord.writing_mirror FROM PUBLIC;

-- The channel of a tenant's notifications.
CREATE FUNCTION mirrord.channel(tenant uuid) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT 'mirrord_' || left(replace(tenant::text, '-', ''), 16);
END;

RESET ROLE;
