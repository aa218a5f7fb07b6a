-- Changes of sources, folders, cases, categories and collections become events, of every author
-- (docs/decisions/0043). Triggers note the change in the transaction that makes it; the daemon makes events of the
-- notes, and deletes them in the same transaction, once it knows whether a command reported the change already.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.event_outbox (
    tenant_id  uuid NOT NULL,
    entry_id   uuid NOT NULL,
    version    bigint NOT NULL,     -- of the page or record; it is compared with the version before
    child      uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',  -- the first child, if it is the change
    kind       text NOT NULL,       -- page, record
    mirror_id  uuid,                -- the mirror whose file changed; NULL: the change was made in Postgres
    was_folder boolean NOT NULL,
    is_folder  boolean NOT NULL,
    noted_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, entry_id, version, child)
);
CREATE INDEX event_outbox_in_order ON mirrord.event_outbox (tenant_id, kind, noted_at, entry_id, version, child);

-- Events of commands whose change has not arrived yet: the event of a file and its row arrive independently.
CREATE TABLE mirrord.event_claim (
    tenant_id uuid NOT NULL,
    event_id  uuid NOT NULL,
    entry_id  uuid,                 -- as the command knew it
    path      text,                 -- the path of its file before the command; of a new file, its path now
    taken_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, event_id)
);
CREATE INDEX event_claim_of_entry ON mirrord.event_claim (entry_id, tenant_id);
CREATE INDEX event_claim_at_path ON mirrord.event_claim (path, tenant_id);

-- A folder is a page that has, or had, other pages below it, a directory without a page, or NAME/_index.md. A row that
-- returns as its tombstone (put_back) was noted when it was made.
CREATE FUNCTION mirrord.note_page() RETURNS trigger
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

CREATE FUNCTION mirrord.note_record() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM mirrord.record_revision WHERE tenant_id = NEW.tenant_id
                                       AND record_id = NEW.id AND version = NEW.version) THEN
        RETURN NULL;
    END IF;
    INSERT INTO mirrord.event_outbox (tenant_id, entry_id, version, kind, mirror_id, was_folder, is_folder)
    VALUES (NEW.tenant_id, NEW.id, NEW.version, 'record', mirrord.writing_mirror(), false, false)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

-- Conditions of triggers, so that an edit of a text calls nothing. The names begin with b_: before the history, which
-- shows whether a row is new.
CREATE TRIGGER b_outbox_of_new AFTER INSERT ON mirrord.page FOR EACH ROW
    WHEN ((NEW.kind = 'folder' OR NEW.index OR NEW.frontmatter ? 'type'
           OR NEW.digest IS NULL AND NEW.markdown IS NOT NULL)
          AND (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring()))
    EXECUTE FUNCTION mirrord.note_page();
CREATE TRIGGER b_outbox AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (OLD.parent_id IS DISTINCT FROM NEW.parent_id OR OLD.name IS DISTINCT FROM NEW.name
          OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL) OR OLD.kind <> NEW.kind OR OLD.index <> NEW.index
          OR (OLD.frontmatter -> 'type') IS DISTINCT FROM (NEW.frontmatter -> 'type'))
    EXECUTE FUNCTION mirrord.note_page();
CREATE TRIGGER b_outbox_of_new AFTER INSERT ON mirrord.record FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.note_record();
CREATE TRIGGER b_outbox AFTER UPDATE ON mirrord.record FOR EACH ROW
    WHEN (OLD.version <> NEW.version)
    EXECUTE FUNCTION mirrord.note_record();

RESET ROLE;
