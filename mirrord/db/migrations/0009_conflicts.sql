-- Conflicts of attachments too, and conflicts that end by what people do to the sibling, on whichever side and with
-- whatever program: so triggers see to it. And what is left of a tombstone when it is purged.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.conflict
    ADD COLUMN kind        text NOT NULL DEFAULT 'page' CHECK (kind IN ('page', 'attachment')),
    ADD COLUMN base_digest bytea,           -- of attachments, whose bytes are in blob; NULL: not known
    ADD COLUMN file_digest bytea,
    ADD COLUMN row_digest  bytea,
    ADD COLUMN resolved_by jsonb;

DROP INDEX mirrord.conflict_open;
CREATE INDEX conflict_open ON mirrord.conflict (entry_id, tenant_id) WHERE resolved_at IS NULL;
CREATE INDEX conflict_by_sibling ON mirrord.conflict (sibling_id, tenant_id);

-- The names mirrord gives to siblings; as long as the name says so the sibling is half of a conflict.
CREATE FUNCTION mirrord.is_sibling_name(name text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT name ~ ' \(conflict \d{4}-\d\d-\d\d \d{6}Z [0-9a-f]{6}\)' $$;

-- Deleting the sibling settles the conflict, and so does giving it a name of its own. A sibling that comes back
-- from its deletion is half of a conflict again.
CREATE FUNCTION mirrord.sibling_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    settled_by text := CASE
        WHEN NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN 'sibling-deleted'
        WHEN mirrord.is_sibling_name(OLD.name) AND NOT mirrord.is_sibling_name(NEW.name) THEN 'sibling-renamed' END;
BEGIN
    IF settled_by IS NOT NULL THEN
        UPDATE mirrord.conflict
           SET resolved_at = clock_timestamp(), resolution = settled_by, resolved_by = NEW.updated_by
         WHERE tenant_id = NEW.tenant_id AND sibling_id = NEW.id AND resolved_at IS NULL;
    ELSIF NEW.deleted_at IS NULL AND OLD.deleted_at IS NOT NULL THEN
        UPDATE mirrord.conflict SET resolved_at = NULL, resolution = NULL, resolved_by = NULL
         WHERE tenant_id = NEW.tenant_id AND sibling_id = NEW.id AND resolution = 'sibling-deleted';
    END IF;
    RETURN NULL;
END
$$;

-- A page or attachment that says what the file said: there are no two texts any more.
CREATE FUNCTION mirrord.page_took_the_files_text() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = clock_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_text = NEW.markdown;
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.attachment_took_the_files_bytes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = clock_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_digest = NEW.digest;
    RETURN NULL;
END
$$;

CREATE TRIGGER f_sibling AFTER UPDATE ON mirrord.page
    FOR EACH ROW WHEN ((OLD.deleted_at, OLD.name) IS DISTINCT FROM (NEW.deleted_at, NEW.name))
    EXECUTE FUNCTION mirrord.sibling_changed();
CREATE TRIGGER f_sibling AFTER UPDATE ON mirrord.attachment
    FOR EACH ROW WHEN ((OLD.deleted_at, OLD.name) IS DISTINCT FROM (NEW.deleted_at, NEW.name))
    EXECUTE FUNCTION mirrord.sibling_changed();
CREATE TRIGGER g_conflict AFTER UPDATE ON mirrord.page
    FOR EACH ROW WHEN (OLD.markdown IS DISTINCT FROM NEW.markdown)
    EXECUTE FUNCTION mirrord.page_took_the_files_text();
CREATE TRIGGER g_conflict AFTER UPDATE ON mirrord.attachment
    FOR EACH ROW WHEN (OLD.digest IS DISTINCT FROM NEW.digest)
    EXECUTE FUNCTION mirrord.attachment_took_the_files_bytes();

-- A person's text is a version of its own, also where it only takes back what an app wrote and mirrord never
-- rendered: mirrord's writes complete an app's version otherwise.
CREATE FUNCTION mirrord.next_version() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version = OLD.version THEN
        NEW.version := OLD.version + 1;
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER c_next_version BEFORE UPDATE ON mirrord.page
    FOR EACH ROW WHEN (current_setting('mirrord.next_version', true) = 'on')
    EXECUTE FUNCTION mirrord.next_version();

-- A purged entry is remembered by its line in the feed, so that a mirror that was away does not bring it back.
-- Whatever happens to the id later gives it another seq, and the mark means nothing any more.
ALTER TABLE mirrord.entry_feed ADD COLUMN purged_seq bigint;

CREATE INDEX page_tombstones ON mirrord.page (deleted_at, tenant_id) WHERE deleted_at IS NOT NULL;
CREATE INDEX attachment_tombstones ON mirrord.attachment (deleted_at, tenant_id) WHERE deleted_at IS NOT NULL;
CREATE INDEX record_tombstones ON mirrord.record (deleted_at, tenant_id) WHERE deleted_at IS NOT NULL;

RESET ROLE;
