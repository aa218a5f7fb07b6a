-- Security beside the policies: guards of every table, rights of each role, owners of functions.
SET ROLE mirrord_owner;

-- COPY bypasses row-level security on shards, so a trigger on every tenant's table makes the same check.
CREATE FUNCTION mirrord.guard_tenant() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.tenant_id IS DISTINCT FROM mirrord.current_tenant() THEN
        RAISE EXCEPTION 'a row of tenant % cannot be written while mirrord.tenant is %',
            NEW.tenant_id, mirrord.current_tenant() USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION mirrord.refuse_truncate() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'mirrord.% cannot be truncated', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'DELETE marks rows as deleted and moves their files to the trash.';
END
$$;

DO $$
DECLARE
    tenant_table text;
    is_shared boolean;  -- by the tenants of a daemon
BEGIN
    FOR tenant_table IN
        SELECT relname FROM pg_catalog.pg_class
         WHERE relnamespace = 'mirrord'::regnamespace AND relkind = 'r'
           AND relname NOT IN ('migration', 'epoch', 'engine_process')
    LOOP
        is_shared := tenant_table IN ('tenant', 'tenant_clock', 'mirror', 'tenant_claim', 'binding');
        IF NOT is_shared THEN
            EXECUTE format('CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.%I '
                           'FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant()', tenant_table);
        END IF;
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', tenant_table);
        EXECUTE format('GRANT SELECT ON mirrord.%I TO mirrord_app', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.%I TO mirrord_daemon, mirrord_definer',
                       tenant_table);
    END LOOP;
END
$$;
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.epoch
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.engine_process
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();

-- Writes of apps. An UPDATE of digest, size and media_type gives an attachment other bytes, which are in blob before.
GRANT INSERT (tenant_id, id, parent_id, kind, name, title, icon, position, frontmatter, markdown, content),
      UPDATE (parent_id, name, title, icon, position, frontmatter, markdown, content, deleted_at),
      DELETE ON mirrord.page TO mirrord_app;
GRANT INSERT (tenant_id, id, parent_id, name, digest, size, media_type),
      UPDATE (digest, size, media_type, deleted_at),
      DELETE ON mirrord.attachment TO mirrord_app;
-- A node of a cluster is sent every column of a new row, so apps may insert all there; triggers set what is not theirs.
DO $$
BEGIN
    IF coalesce(current_setting('mirrord.cluster', true), '') = 'on' THEN
        GRANT INSERT ON mirrord.page, mirrord.attachment, mirrord.record TO mirrord_app;
    END IF;
END
$$;
GRANT INSERT ON mirrord.blob TO mirrord_app;
GRANT INSERT (tenant_id, id, kind, key, data), UPDATE (text, data, deleted_at), DELETE ON mirrord.record TO mirrord_app;
GRANT INSERT, UPDATE (read_at) ON mirrord.event TO mirrord_app;
GRANT SELECT ON mirrord.page_dates, mirrord.page_editor, mirrord.category, mirrord.collection, mirrord.segment
    TO mirrord_app, mirrord_daemon;
GRANT INSERT, UPDATE, DELETE ON mirrord.page_editor TO mirrord_app;  -- its trigger writes page with the app's rights

-- Every role reads the number of the newest migration. Requests are never deleted.
GRANT SELECT ON mirrord.migration TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.migration TO mirrord_daemon;
GRANT SELECT, UPDATE ON mirrord.epoch TO mirrord_daemon;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.engine_process TO mirrord_daemon;
REVOKE DELETE ON mirrord.approval FROM mirrord_daemon;

-- Functions with rights of their own run as mirrord_definer, which sees the rows of the tenant that is set and may
-- create nothing. mirrord_owner, which may replace functions, is never the current role at run time.
GRANT USAGE ON ALL SEQUENCES IN SCHEMA mirrord TO mirrord_definer;
GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;  -- until it owns its functions
RESET ROLE;
DO $$
DECLARE
    definers_function regprocedure;
BEGIN
    FOR definers_function IN
        SELECT oid FROM pg_catalog.pg_proc
         WHERE pronamespace = 'mirrord'::regnamespace
           AND (prosecdef AND proname <> 'keep_statistics' OR proname = 'writing_mirror')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO mirrord_definer', definers_function);
    END LOOP;
END
$$;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;

-- Only mirrord_owner creates triggers that call these functions, because they write with the rights of mirrord.
DO $$
DECLARE
    called record;
BEGIN
    FOR called IN
        SELECT oid::regprocedure AS name, proowner::regrole AS owner FROM pg_catalog.pg_proc
         WHERE pronamespace = 'mirrord'::regnamespace AND prorettype = 'trigger'::regtype
    LOOP
        EXECUTE format('SET ROLE %s', called.owner);
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called.name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mirrord_owner', called.name);
        RESET ROLE;
    END LOOP;
END
$$;
