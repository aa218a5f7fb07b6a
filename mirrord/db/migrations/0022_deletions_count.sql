-- DELETE reports how many rows it deleted, and RETURNING which: a driver that counts rows takes 0 for a failure.
-- Postgres deletes the row, and a trigger inserts it again, as its tombstone, before the statement ends. Foreign keys of
-- its children are checked after that: their triggers are named RI_…, and Postgres calls triggers in the order of names.
SET ROLE mirrord_owner;

-- Only mirrord deletes a tombstone, which purges the entry.
CREATE OR REPLACE FUNCTION mirrord.entomb() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.deleted_at IS NOT NULL AND NOT mirrord.by_mirrord() THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END
$$;

-- Runs as mirrord_definer, so that every column returns as it was.
CREATE FUNCTION mirrord.put_back() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    columns text := (SELECT string_agg(quote_ident(attname), ', ') FROM pg_catalog.pg_attribute
                      WHERE attrelid = TG_RELID AND attnum > 0 AND NOT attisdropped AND attgenerated = '');
BEGIN
    EXECUTE format('INSERT INTO mirrord.%1$I (%2$s) SELECT %2$s FROM (SELECT ($1).*) AS was', TG_TABLE_NAME, columns)
        USING OLD;
    RETURN NULL;
END
$$;

-- All rows that one statement deletes have one stamp: a restored folder restores the rows with its stamp.
CREATE FUNCTION mirrord.mark_deleted() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('UPDATE mirrord.%I SET deleted_at = statement_timestamp() WHERE tenant_id = $1 AND id = $2',
                   TG_TABLE_NAME) USING OLD.tenant_id, OLD.id;
    RETURN NULL;
END
$$;

DO $$
DECLARE
    deletable text;
BEGIN
    FOREACH deletable IN ARRAY ARRAY['page', 'attachment', 'record'] LOOP
        EXECUTE format('CREATE TRIGGER "A_1_put_back" AFTER DELETE ON mirrord.%I FOR EACH ROW '
                       'WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.put_back()', deletable);
        EXECUTE format('CREATE TRIGGER "A_2_tombstone" AFTER DELETE ON mirrord.%I FOR EACH ROW '
                       'WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.mark_deleted()', deletable);
    END LOOP;
END
$$;

-- One statement may delete a folder and its content in any order: parents are checked when all rows are back.
CREATE FUNCTION mirrord.check_parents_later() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SET CONSTRAINTS mirrord.page_parent_exists DEFERRED;
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.check_parents_now() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SET CONSTRAINTS mirrord.page_parent_exists IMMEDIATE;
    RETURN NULL;
END
$$;
CREATE TRIGGER a_parents BEFORE DELETE ON mirrord.page
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.check_parents_later();
CREATE TRIGGER a_parents_now AFTER DELETE ON mirrord.page
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.check_parents_now();

-- A new child of a folder that another transaction deletes waits here for that transaction. The check of the foreign
-- key would wait, too, but would see the deleted row only; the check after this wait sees the tombstone.
CREATE FUNCTION mirrord.await_parent() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.parent_id FOR KEY SHARE;
    RETURN NEW;
END
$$;
DO $$
DECLARE
    child text;
BEGIN
    FOREACH child IN ARRAY ARRAY['page', 'attachment'] LOOP
        EXECUTE format('CREATE TRIGGER d_new_parent BEFORE INSERT ON mirrord.%I FOR EACH ROW '
                       'WHEN (NEW.parent_id IS NOT NULL) EXECUTE FUNCTION mirrord.await_parent()', child);
        EXECUTE format('CREATE TRIGGER d_other_parent BEFORE UPDATE OF parent_id ON mirrord.%I FOR EACH ROW '
                       'WHEN (NEW.parent_id IS DISTINCT FROM OLD.parent_id) EXECUTE FUNCTION mirrord.await_parent()', child);
    END LOOP;
END
$$;

-- An attachment that returns keeps its version.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('mirrord.attachment_before()'::regprocedure),
        E'        NEW.version := 1;\n        IF NOT mirrord.by_mirrord() THEN\n',
        E'        IF NOT mirrord.by_mirrord() THEN\n            NEW.version := 1;\n');
END
$$;

-- Dependent rows exist as long as the tombstone; a purge deletes them first.
DO $$
DECLARE
    foreign_key record;
BEGIN
    FOR foreign_key IN
        SELECT conrelid::regclass AS child, confrelid::regclass AS parent, conname, pg_get_constraintdef(oid) AS definition
          FROM pg_catalog.pg_constraint
         WHERE contype = 'f' AND confdeltype = 'c' AND connamespace = 'mirrord'::regnamespace
           AND confrelid IN ('mirrord.page'::regclass, 'mirrord.attachment'::regclass, 'mirrord.record'::regclass)
    LOOP
        -- The check reads rows of all tenants, which forced row-level security hides from the owner.
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', foreign_key.child);
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', foreign_key.parent);
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', foreign_key.child, foreign_key.conname);
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', foreign_key.child, foreign_key.conname,
                       replace(foreign_key.definition, ' ON DELETE CASCADE', ''));
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', foreign_key.child);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', foreign_key.parent);
    END LOOP;
END
$$;

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
ALTER FUNCTION mirrord.put_back() OWNER TO mirrord_definer;

SET ROLE mirrord_definer;
-- A row that returns has its history already.
DO $$
DECLARE
    kept text;
BEGIN
    FOREACH kept IN ARRAY ARRAY['page', 'attachment', 'record'] LOOP
        EXECUTE replace(
            pg_get_functiondef(format('mirrord.%s_history()', kept)::regprocedure),
            E'BEGIN\n    IF TG_OP',
            format(E'BEGIN\n    IF TG_OP = ''INSERT'' AND EXISTS (SELECT FROM mirrord.%1$s_revision\n'
                   '                WHERE tenant_id = NEW.tenant_id AND %1$s_id = NEW.id AND version = NEW.version) THEN'
                   '\n        RETURN NULL;\n    END IF;\n    IF TG_OP', kept));
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
