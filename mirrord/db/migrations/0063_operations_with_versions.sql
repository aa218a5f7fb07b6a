-- A version has the id of its operation from the beginning: an intake wrote the row of the history, and then once more
-- with every index of the table.
SET ROLE mirrord_owner;

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
            coalesce(NEW.op_id, nullif(current_setting('mirrord.op_id', true), '')::uuid),
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

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

DROP TRIGGER c_operation_of_insert ON mirrord.page;
DROP TRIGGER c_operation_of_update ON mirrord.page;
CREATE TRIGGER c_operation AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (NEW.op_id IS NOT NULL AND NEW.version = OLD.version)
    EXECUTE FUNCTION mirrord.record_operation();

RESET ROLE;
