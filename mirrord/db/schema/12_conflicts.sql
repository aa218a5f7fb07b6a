-- Conflicts. A conflict of a page or attachment ends by what a person does to its sibling, on either side and with any
-- program, so triggers settle it. A record has no sibling, because its directory holds only records: the conflict keeps
-- the text of the file.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.conflict (
    tenant_id   uuid NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    mirror_id   uuid NOT NULL,
    entry_id    uuid NOT NULL,
    sibling_id  uuid,                       -- the page or attachment with the file's text or bytes
    path        text NOT NULL,
    base_text   text,
    file_text   text,
    row_text    text,
    row_version bigint,
    created_at  timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    resolution  text,
    kind        text NOT NULL DEFAULT 'page' CHECK (kind IN ('page', 'attachment', 'record')),
    base_digest bytea,                      -- of attachments, whose bytes are in blob; NULL: not known
    file_digest bytea,
    row_digest  bytea,
    resolved_by jsonb,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX conflict_open ON mirrord.conflict (entry_id, tenant_id) WHERE resolved_at IS NULL;
CREATE INDEX conflict_by_sibling ON mirrord.conflict (sibling_id, tenant_id);

-- Whether mirrord gave this name to a sibling; an entry with such a name is still half of a conflict.
CREATE FUNCTION mirrord.is_sibling_name(name text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT name ~ ' \(conflict \d{4}-\d\d-\d\d \d{6}Z [0-9a-f]{6}\)';
END;

-- A conflict is settled if its sibling is deleted or gets another name. A sibling that is restored is half of the
-- conflict again.
CREATE FUNCTION mirrord.sibling_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    settled_by text := CASE
        WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN 'sibling-deleted'
        WHEN mirrord.is_sibling_name(OLD.name) AND NOT mirrord.is_sibling_name(NEW.name) THEN 'sibling-renamed' END;
BEGIN
    IF settled_by IS NOT NULL THEN
        UPDATE mirrord.conflict
           SET resolved_at = statement_timestamp(), resolution = settled_by, resolved_by = NEW.updated_by
         WHERE tenant_id = NEW.tenant_id AND sibling_id = NEW.id AND resolved_at IS NULL;
    ELSIF NEW.deleted_at IS NULL AND OLD.deleted_at IS NOT NULL THEN
        UPDATE mirrord.conflict SET resolved_at = NULL, resolution = NULL, resolved_by = NULL
         WHERE tenant_id = NEW.tenant_id AND sibling_id = NEW.id AND resolution = 'sibling-deleted';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER f_sibling AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN ((OLD.deleted_at, OLD.name) IS DISTINCT FROM (NEW.deleted_at, NEW.name))
    EXECUTE FUNCTION mirrord.sibling_changed();
CREATE TRIGGER f_sibling AFTER UPDATE ON mirrord.attachment FOR EACH ROW
    WHEN ((OLD.deleted_at, OLD.name) IS DISTINCT FROM (NEW.deleted_at, NEW.name))
    EXECUTE FUNCTION mirrord.sibling_changed();

-- A row that gets the text or the bytes of the file settles its conflict.
CREATE FUNCTION mirrord.page_took_the_files_text() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_text = NEW.markdown;
    RETURN NULL;
END
$$;
CREATE TRIGGER g_conflict AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (OLD.markdown IS DISTINCT FROM NEW.markdown)
    EXECUTE FUNCTION mirrord.page_took_the_files_text();

CREATE FUNCTION mirrord.attachment_took_the_files_bytes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_digest = NEW.digest;
    RETURN NULL;
END
$$;
CREATE TRIGGER g_conflict AFTER UPDATE ON mirrord.attachment FOR EACH ROW
    WHEN (OLD.digest IS DISTINCT FROM NEW.digest)
    EXECUTE FUNCTION mirrord.attachment_took_the_files_bytes();

CREATE FUNCTION mirrord.record_took_the_files_text() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_text = NEW.text;
    RETURN NULL;
END
$$;
CREATE TRIGGER g_conflict AFTER UPDATE ON mirrord.record FOR EACH ROW
    WHEN (OLD.text IS DISTINCT FROM NEW.text)
    EXECUTE FUNCTION mirrord.record_took_the_files_text();

-- Settles a conflict without a sibling, which only records have. Returns whether there is such an open conflict.
CREATE FUNCTION mirrord.settle_conflict(conflict bigint, how text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not settle conflicts' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF how IS NULL OR how NOT IN ('took-file', 'took-row', 'took-merged') THEN
        RAISE EXCEPTION 'a conflict is settled by took-file, took-row or took-merged' USING ERRCODE = 'check_violation';
    END IF;
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = how, resolved_by = who
     WHERE tenant_id = mirrord.current_tenant() AND id = settle_conflict.conflict AND resolved_at IS NULL
       AND sibling_id IS NULL;
    RETURN FOUND;
END
$$;
REVOKE ALL ON FUNCTION mirrord.settle_conflict FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.settle_conflict TO mirrord_app, mirrord_daemon;

RESET ROLE;
