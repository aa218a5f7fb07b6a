-- Deletions: DELETE makes a tombstone, a deleted folder takes its content along, a restored folder restores it.
SET ROLE mirrord_owner;

-- DELETE reports how many rows it deleted, and RETURNING which: a driver that counts rows takes 0 for a failure.
-- Postgres therefore deletes the row; A_1_put_back inserts it again, and A_2_tombstone marks it, before the statement
-- ends. Foreign keys of its children are checked after that: their triggers are named RI_…, and Postgres calls triggers
-- in the order of their names.

-- Only mirrord deletes a tombstone, which purges the entry.
CREATE FUNCTION mirrord.entomb() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.deleted_at IS NOT NULL AND NOT mirrord.by_mirrord() THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER a_tombstone BEFORE DELETE ON mirrord.page FOR EACH ROW EXECUTE FUNCTION mirrord.entomb();
CREATE TRIGGER a_tombstone BEFORE DELETE ON mirrord.attachment FOR EACH ROW EXECUTE FUNCTION mirrord.entomb();
CREATE TRIGGER a_tombstone BEFORE DELETE ON mirrord.record FOR EACH ROW EXECUTE FUNCTION mirrord.entomb();

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
CREATE TRIGGER "A_1_put_back" AFTER DELETE ON mirrord.page FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.put_back();
CREATE TRIGGER "A_1_put_back" AFTER DELETE ON mirrord.attachment FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.put_back();
CREATE TRIGGER "A_1_put_back" AFTER DELETE ON mirrord.record FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.put_back();

-- All rows that one statement deletes have one stamp: a restored folder restores the rows with its stamp.
CREATE FUNCTION mirrord.mark_deleted() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('UPDATE mirrord.%I SET deleted_at = statement_timestamp() WHERE tenant_id = $1 AND id = $2',
                   TG_TABLE_NAME) USING OLD.tenant_id, OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER "A_2_tombstone" AFTER DELETE ON mirrord.page FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.mark_deleted();
CREATE TRIGGER "A_2_tombstone" AFTER DELETE ON mirrord.attachment FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.mark_deleted();
CREATE TRIGGER "A_2_tombstone" AFTER DELETE ON mirrord.record FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION mirrord.mark_deleted();

-- The name that a constraint has on the table of a trigger: that of a shard ends as the shard's name does, in _NUMBER.
CREATE FUNCTION mirrord.constraint_of(of_table name, named text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT named || coalesce(substring(of_table::text, '_\d+$'), '');
END;

-- One statement may delete a folder and its content in any order: parents are checked when all rows are back.
CREATE FUNCTION mirrord.check_parents_later() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('SET CONSTRAINTS mirrord.%I DEFERRED', mirrord.constraint_of(TG_TABLE_NAME, 'page_parent_exists'));
    RETURN NULL;
END
$$;
CREATE TRIGGER a_parents BEFORE DELETE ON mirrord.page
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.check_parents_later();

CREATE FUNCTION mirrord.check_parents_now() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('SET CONSTRAINTS mirrord.%I IMMEDIATE', mirrord.constraint_of(TG_TABLE_NAME, 'page_parent_exists'));
    RETURN NULL;
END
$$;
CREATE TRIGGER a_parents_now AFTER DELETE ON mirrord.page
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.check_parents_now();

-- A new child of a folder that another transaction deletes waits here for that transaction. The check of the foreign
-- key would wait, too, but would see the deleted row only; the check after this wait sees the tombstone. The lock lasts
-- as long as the setting does, so that the next child of the same folder needs no other.
CREATE FUNCTION mirrord.await_parent() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.parent_id FOR KEY SHARE;
    IF FOUND THEN
        PERFORM set_config('mirrord.locked_parent', NEW.parent_id::text, true);
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER d_new_parent BEFORE INSERT ON mirrord.page FOR EACH ROW
    WHEN (NEW.parent_id IS NOT NULL
          AND NEW.parent_id::text IS DISTINCT FROM current_setting('mirrord.locked_parent', true))
    EXECUTE FUNCTION mirrord.await_parent();
CREATE TRIGGER d_new_parent BEFORE INSERT ON mirrord.attachment FOR EACH ROW
    WHEN (NEW.parent_id IS NOT NULL
          AND NEW.parent_id::text IS DISTINCT FROM current_setting('mirrord.locked_parent', true))
    EXECUTE FUNCTION mirrord.await_parent();
CREATE TRIGGER d_other_parent BEFORE UPDATE OF parent_id ON mirrord.page FOR EACH ROW
    WHEN (NEW.parent_id IS DISTINCT FROM OLD.parent_id) EXECUTE FUNCTION mirrord.await_parent();
CREATE TRIGGER d_other_parent BEFORE UPDATE OF parent_id ON mirrord.attachment FOR EACH ROW
    WHEN (NEW.parent_id IS DISTINCT FROM OLD.parent_id) EXECUTE FUNCTION mirrord.await_parent();

-- A deleted folder takes its content along, with the same stamp; a restored folder restores the content with its stamp.
-- If the setting mirrord.cascade is off (in writes of mirrord, and in restore_folder) only the row itself changes.
CREATE FUNCTION mirrord.page_cascade() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('mirrord.cascade', true) = 'off' THEN
        RETURN NULL;
    END IF;
    IF NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN
        UPDATE mirrord.page SET deleted_at = NEW.deleted_at
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at IS NULL;
        UPDATE mirrord.attachment SET deleted_at = NEW.deleted_at
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at IS NULL;
    ELSIF NEW.deleted_at IS NULL THEN
        UPDATE mirrord.page SET deleted_at = NULL, name_key = NULL
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at = OLD.deleted_at;
        UPDATE mirrord.attachment SET deleted_at = NULL, name_key = NULL
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at = OLD.deleted_at;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER d_cascade AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION mirrord.page_cascade();

-- Whether a folder holds something that is not deleted; asked for every deleted row. With `parent_id = folder` the
-- planner assumes that any parent has a share of all rows, and reads rows in any order until it meets one; where there
-- is none it reads all, in time that grows with the square of the deletions. It takes a range for few rows, and reads
-- the index page_children.
CREATE FUNCTION mirrord.holds_life(tenant uuid, folder uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM mirrord.page
                    WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL)
        OR EXISTS (SELECT FROM mirrord.attachment
                    WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL);
END
$$;

-- A folder that holds something alive is restored: the deletion and the new child did not know of each other. Only the
-- folder itself is restored, not what was deleted with it.
CREATE FUNCTION mirrord.restore_folder(tenant uuid, folder uuid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before text := coalesce(current_setting('mirrord.cascade', true), '');
BEGIN
    PERFORM set_config('mirrord.cascade', 'off', true);
    UPDATE mirrord.page SET deleted_at = NULL, name_key = NULL
     WHERE tenant_id = tenant AND id = folder AND deleted_at IS NOT NULL;
    PERFORM set_config('mirrord.cascade', before, true);
END
$$;

-- ancestor: the parent of the parent, which is not the page itself (page_is_not_its_own_parent).
CREATE FUNCTION mirrord.refuse_cycle(tenant uuid, moved uuid, ancestor uuid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    depth integer := 1;
BEGIN
    WHILE ancestor IS NOT NULL LOOP
        depth := depth + 1;
        IF ancestor = moved OR depth > 256 THEN
            RAISE EXCEPTION 'page % cannot be moved below itself or more than 256 folders deep', moved
                USING ERRCODE = 'check_violation', HINT = 'Choose a parent outside this page.';
        END IF;
        SELECT parent_id INTO ancestor FROM mirrord.page WHERE tenant_id = tenant AND id = ancestor;
    END LOOP;
END
$$;

RESET ROLE;
