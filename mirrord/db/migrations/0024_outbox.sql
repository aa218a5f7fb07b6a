-- Changes of sources, folders, cases, categories and collections become events, of every author (docs/decisions/0043).
-- Triggers note the change in the transaction that makes it; the daemon makes events of the notes, and deletes them in
-- the same transaction, once it knows whether a command reported the change already.
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
    PRIMARY KEY (tenant_id, entry_id, version, child)
);

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

DO $$
DECLARE
    tenant_table text;
    role_name text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['event_outbox', 'event_claim'] LOOP
        EXECUTE format('ALTER TABLE mirrord.%I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE mirrord.%I FORCE ROW LEVEL SECURITY', tenant_table);
        FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon', 'definer'] LOOP
            EXECUTE format('CREATE POLICY %I ON mirrord.%I TO %I USING (tenant_id = mirrord.current_tenant()) '
                           'WITH CHECK (tenant_id = mirrord.current_tenant())',
                           role_name, tenant_table, 'mirrord_' || role_name);
        END LOOP;
        EXECUTE format('CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant()', tenant_table);
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', tenant_table);
        EXECUTE format('GRANT SELECT ON mirrord.%I TO mirrord_app', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.%I TO mirrord_daemon, mirrord_definer',
                       tenant_table);
    END LOOP;
END
$$;

-- Also sets mirrord.mirror, which says that the transaction's writes are from that mirror.
CREATE OR REPLACE FUNCTION mirrord.hold_lease(held_mirror uuid, held_token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.mirror
      WHERE tenant_id = mirrord.current_tenant() AND id = held_mirror
        AND token = held_token AND expires_at > clock_timestamp()
        FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on mirror % is lost', held_mirror USING ERRCODE = 'MR001';
    END IF;
    PERFORM set_config('mirrord.mirror', held_mirror::text, true);
END
$$;

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

-- The mirror that holds its lease in this transaction. The setting is checked, because an app may set it.
CREATE FUNCTION mirrord.writing_mirror() RETURNS uuid
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN current_setting('mirrord.mirror', true) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                THEN current_setting('mirrord.mirror', true)::uuid END;
END;

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
        IF EXISTS (SELECT FROM mirrord.page_revision
                    WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version) THEN
            RETURN NULL;
        END IF;
    ELSE
        was_folder := OLD.kind = 'folder' OR OLD.index;
        IF NOT (was_folder AND is_folder) THEN
            holds_pages := EXISTS (SELECT FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id);
        END IF;
        IF NOT (was_folder OR is_folder OR holds_pages OR OLD.digest IS NULL OR OLD.frontmatter ? 'type'
                OR NEW.frontmatter ? 'type') THEN
            RETURN NULL;  -- of a page without a type, which holds nothing, no event tells
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

-- Also notes that a page without a directory becomes a folder with its first child.
CREATE OR REPLACE FUNCTION mirrord.page_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_dead boolean;
    parent uuid;
    parent_is_dead boolean := false;
    parent_version bigint;
    parent_is_bare boolean := false;
    comes boolean := false;
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'page');
    SELECT deleted_at IS NOT NULL, parent_id INTO is_dead, parent
      FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    IF parent IS NOT NULL THEN
        comes := TG_OP = 'INSERT' OR NEW.parent_id IS DISTINCT FROM OLD.parent_id;
        IF comes THEN
            PERFORM mirrord.refuse_cycle(NEW.tenant_id, NEW.id, parent);
        END IF;
        SELECT deleted_at IS NOT NULL, kind = 'page' AND NOT index, version
          INTO parent_is_dead, parent_is_bare, parent_version
          FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = parent;
    END IF;
    IF comes AND parent_is_bare AND NOT is_dead AND NOT EXISTS (
        SELECT FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND parent_id = parent AND id <> NEW.id
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

REVOKE EXECUTE ON FUNCTION mirrord.note_page, mirrord.note_record, mirrord.writing_mirror FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.note_page, mirrord.note_record TO mirrord_owner;
RESET ROLE;

SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

-- Conditions of triggers, so that an edit of a text calls nothing. The names begin with b_: before the history, which
-- shows whether a row is new.
DO $$
DECLARE
    not_restoring constant text :=
        '(current_setting(''mirrord.restoring'', true) IS DISTINCT FROM ''on'' OR NOT mirrord.is_restoring())';
BEGIN
    EXECUTE format('CREATE TRIGGER b_outbox_of_new AFTER INSERT ON mirrord.page FOR EACH ROW WHEN '
                   '((NEW.kind = ''folder'' OR NEW.index OR NEW.frontmatter ? ''type'' '
                   'OR NEW.digest IS NULL AND NEW.markdown IS NOT NULL) AND %s) '
                   'EXECUTE FUNCTION mirrord.note_page()', not_restoring);
    EXECUTE format('CREATE TRIGGER b_outbox_of_new AFTER INSERT ON mirrord.record FOR EACH ROW WHEN (%s) '
                   'EXECUTE FUNCTION mirrord.note_record()', not_restoring);
END
$$;
CREATE TRIGGER b_outbox AFTER UPDATE ON mirrord.page FOR EACH ROW WHEN (
    OLD.parent_id IS DISTINCT FROM NEW.parent_id OR OLD.name IS DISTINCT FROM NEW.name
    OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL) OR OLD.kind <> NEW.kind OR OLD.index <> NEW.index
    OR (OLD.frontmatter -> 'type') IS DISTINCT FROM (NEW.frontmatter -> 'type'))
    EXECUTE FUNCTION mirrord.note_page();
CREATE TRIGGER b_outbox AFTER UPDATE ON mirrord.record FOR EACH ROW WHEN (OLD.version <> NEW.version)
    EXECUTE FUNCTION mirrord.note_record();

RESET ROLE;
