-- A new row is looked up less: a row that a statement inserts has no history, children of one folder lock it once, and
-- the check for circles begins above the parent, which is read anyway.
SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.await_parent() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.parent_id FOR KEY SHARE;
    IF FOUND THEN
        PERFORM set_config('mirrord.locked_parent', NEW.parent_id::text, true);
    END IF;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER d_new_parent BEFORE INSERT ON mirrord.page FOR EACH ROW
    WHEN (NEW.parent_id IS NOT NULL
          AND NEW.parent_id::text IS DISTINCT FROM current_setting('mirrord.locked_parent', true))
    EXECUTE FUNCTION mirrord.await_parent();
CREATE OR REPLACE TRIGGER d_new_parent BEFORE INSERT ON mirrord.attachment FOR EACH ROW
    WHEN (NEW.parent_id IS NOT NULL
          AND NEW.parent_id::text IS DISTINCT FROM current_setting('mirrord.locked_parent', true))
    EXECUTE FUNCTION mirrord.await_parent();

CREATE OR REPLACE FUNCTION mirrord.refuse_cycle(tenant uuid, moved uuid, ancestor uuid) RETURNS void
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

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

CREATE OR REPLACE FUNCTION mirrord.page_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND pg_trigger_depth() > 1 AND EXISTS (SELECT FROM mirrord.page_revision
                WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.page_revision (tenant_id, page_id, version, digest, markdown, frontmatter, views,
            parent_id, name, deleted, actor, op_id, parents)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.digest, NEW.markdown, NEW.frontmatter,
            CASE WHEN NEW.ahead <> '{}' THEN mirrord.page_views(NEW) END, NEW.parent_id, NEW.name,
            NEW.deleted_at IS NOT NULL, NEW.updated_by,
            nullif(current_setting('mirrord.op_id', true), '')::uuid,
            coalesce(nullif(current_setting('mirrord.parents', true), '')::bigint[],
                     CASE WHEN TG_OP = 'INSERT' THEN '{}'::bigint[] ELSE ARRAY[OLD.version] END));
    ELSIF (NEW.markdown, NEW.digest, NEW.name) IS DISTINCT FROM (OLD.markdown, OLD.digest, OLD.name) THEN
        UPDATE mirrord.page_revision
           SET markdown = NEW.markdown, digest = NEW.digest, frontmatter = NEW.frontmatter, name = NEW.name
         WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.note_page() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    was_folder boolean := false;
    is_folder boolean := NEW.kind = 'folder' OR NEW.index;
    holds_pages boolean := false;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF pg_trigger_depth() > 1 AND EXISTS (SELECT FROM mirrord.page_revision
                    WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version) THEN
            RETURN NULL;
        END IF;
    ELSE
        was_folder := OLD.kind = 'folder' OR OLD.index;
        IF NOT (was_folder AND is_folder) THEN
            holds_pages := EXISTS (SELECT FROM mirrord.page WHERE tenant_id = NEW.tenant_id
                                      AND parent_id BETWEEN NEW.id AND NEW.id);  -- as in holds_life
        END IF;
        IF NOT (was_folder OR is_folder OR holds_pages OR OLD.digest IS NULL OR OLD.frontmatter ? 'type'
                OR NEW.frontmatter ? 'type') THEN
            RETURN NULL;  -- no event reports a page without a type that holds no pages
        END IF;
    END IF;
    INSERT INTO mirrord.event_outbox AS noted (tenant_id, entry_id, version, kind, mirror_id, was_folder, is_folder)
    VALUES (NEW.tenant_id, NEW.id, NEW.version, 'page', mirrord.writing_mirror(),
        was_folder OR holds_pages, is_folder OR holds_pages)
    ON CONFLICT (tenant_id, entry_id, version, child) DO UPDATE SET is_folder = EXCLUDED.is_folder;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.page_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_dead boolean;
    parent uuid;
    grandparent uuid;
    parent_is_dead boolean := false;
    parent_version bigint;
    parent_is_bare boolean := false;
    comes boolean := false;
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'page');
    SELECT deleted_at IS NOT NULL, parent_id INTO is_dead, parent
      FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    IF parent IS NOT NULL THEN
        SELECT deleted_at IS NOT NULL, kind = 'page' AND NOT index, version, parent_id
          INTO parent_is_dead, parent_is_bare, parent_version, grandparent
          FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = parent;
        comes := TG_OP = 'INSERT' OR NEW.parent_id IS DISTINCT FROM OLD.parent_id;
        IF comes AND grandparent IS NOT NULL THEN
            PERFORM mirrord.refuse_cycle(NEW.tenant_id, NEW.id, grandparent);
        END IF;
    END IF;
    IF comes AND parent_is_bare AND NOT is_dead AND NOT EXISTS (
        SELECT FROM mirrord.event_outbox
         WHERE tenant_id = NEW.tenant_id AND entry_id = parent AND version = parent_version) AND NOT EXISTS (
        SELECT FROM mirrord.page
         WHERE tenant_id = NEW.tenant_id AND parent_id BETWEEN parent AND parent AND id <> NEW.id
           AND created_at < now()) THEN
        INSERT INTO mirrord.event_outbox (tenant_id, entry_id, version, child, kind, mirror_id, was_folder, is_folder)
        VALUES (NEW.tenant_id, parent, parent_version, NEW.id, 'page', mirrord.writing_mirror(), false, true)
        ON CONFLICT DO NOTHING;
    END IF;
    IF is_dead AND mirrord.holds_life(NEW.tenant_id, NEW.id) THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, NEW.id);
    ELSIF NOT is_dead AND parent_is_dead THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, parent);
    END IF;
    RETURN NULL;
END
$$;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

RESET ROLE;
