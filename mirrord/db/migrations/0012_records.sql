-- Records take part in the sync: which there are, what apps may write of them, their history, their conflicts; and
-- events from files are found by the text they tell of.
SET ROLE mirrord_owner;

-- What may be a file's name (mirrord.domain.record says the same).
CREATE FUNCTION mirrord.is_record_key(kind text, key text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE
    WHEN kind IN ('category', 'collection') THEN key COLLATE "C" ~ '^[A-Za-z0-9]([A-Za-z0-9_-]{0,28}[A-Za-z0-9])?$'
    WHEN kind = 'segment' THEN key ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
    ELSE false END
$$;

DROP INDEX mirrord.record_key_is_free;
ALTER TABLE mirrord.record
    ADD COLUMN key_slot text COLLATE "C" GENERATED ALWAYS AS  -- keys are one without case; a tombstone has none
        (CASE WHEN deleted_at IS NULL THEN lower(key COLLATE "C") END) STORED,
    ADD CONSTRAINT record_key_is_free UNIQUE (key_slot, kind, tenant_id) DEFERRABLE,
    ADD CONSTRAINT record_is_a_file CHECK (mirrord.is_record_key(kind, key)),
    ADD CONSTRAINT record_data_is_an_object CHECK (jsonb_typeof(data) = 'object');
CREATE INDEX record_by_key ON mirrord.record (key, tenant_id);

-- Append-only, but for one thing: an app's write of data gets its rendered text later.
CREATE TABLE mirrord.record_revision (
    tenant_id  uuid NOT NULL,
    record_id  uuid NOT NULL,
    version    bigint NOT NULL,
    kind       text NOT NULL,
    key        text NOT NULL,
    digest     bytea,                       -- NULL: not rendered
    text       text,
    data       jsonb,                       -- NULL: the text cannot be read
    deleted    boolean NOT NULL DEFAULT false,
    actor      jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, record_id, version),
    FOREIGN KEY (tenant_id, record_id) REFERENCES mirrord.record (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX record_revision_by_digest ON mirrord.record_revision (record_id, digest, tenant_id);

CREATE FUNCTION mirrord.record_written_by_app(was mirrord.record, fresh mirrord.record) RETURNS mirrord.record
    LANGUAGE plpgsql AS $$
BEGIN
    IF fresh.data IS NULL AND fresh.data IS DISTINCT FROM was.data THEN
        RAISE EXCEPTION 'the data of % "%" must be an object', fresh.kind, fresh.key USING ERRCODE = 'check_violation';
    END IF;
    IF was.text IS NOT NULL AND was.data IS NULL AND fresh.data IS NOT NULL THEN
        RAISE EXCEPTION 'the file of % "%" cannot be read, so it is not overwritten', fresh.kind, fresh.key
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Mend the file; mirrord.problem says in which line.';
    END IF;
    IF fresh.data IS DISTINCT FROM was.data THEN
        fresh.ahead := '{data}';
    END IF;
    IF (fresh.data, fresh.deleted_at) IS DISTINCT FROM (was.data, was.deleted_at) THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

-- As for pages: text that completes an app's write still belongs to that write's version.
CREATE FUNCTION mirrord.record_written_by_mirrord(was mirrord.record, fresh mirrord.record) RETURNS mirrord.record
    LANGUAGE plpgsql AS $$
BEGIN
    fresh.version := was.version;
    IF (fresh.deleted_at, fresh.kind, fresh.key) IS DISTINCT FROM (was.deleted_at, was.kind, was.key)
       OR was.ahead = '{}' AND fresh.text IS DISTINCT FROM was.text THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.record_before() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT mirrord.by_mirrord() THEN
            NEW.version := 1;
            NEW.ahead := '{data}';
            NEW.data := coalesce(NEW.data, '{}');
        END IF;
    ELSIF mirrord.by_mirrord() THEN
        NEW := mirrord.record_written_by_mirrord(OLD, NEW);
    ELSE
        NEW := mirrord.record_written_by_app(OLD, NEW);
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION mirrord.record_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.record_revision (tenant_id, record_id, version, kind, key, digest, text, data, deleted, actor)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.kind, NEW.key,
            CASE WHEN NEW.ahead = '{}' THEN NEW.digest END, CASE WHEN NEW.ahead = '{}' THEN NEW.text END, NEW.data,
            NEW.deleted_at IS NOT NULL, NEW.updated_by);
    ELSIF (NEW.text, NEW.digest) IS DISTINCT FROM (OLD.text, OLD.digest) OR NEW.ahead <> OLD.ahead THEN
        UPDATE mirrord.record_revision SET text = NEW.text, digest = NEW.digest, data = NEW.data
         WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND version = NEW.version;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER c_next_version BEFORE UPDATE ON mirrord.record
    FOR EACH ROW WHEN (current_setting('mirrord.next_version', true) = 'on')
    EXECUTE FUNCTION mirrord.next_version();
CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.record
    FOR EACH ROW EXECUTE FUNCTION mirrord.record_history();

ALTER TABLE mirrord.record_revision ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrord.record_revision FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon'] LOOP
        EXECUTE format('CREATE POLICY %I ON mirrord.record_revision TO %I USING (tenant_id = mirrord.current_tenant()) '
                       'WITH CHECK (tenant_id = mirrord.current_tenant())', role_name, 'mirrord_' || role_name);
    END LOOP;
END
$$;
CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.record_revision
    FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant();
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.record_revision
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();

-- A record's conflict has no sibling: its directory holds nothing but records, so the file's text is kept here.
ALTER TABLE mirrord.conflict DROP CONSTRAINT conflict_kind_check;
ALTER TABLE mirrord.conflict ADD CONSTRAINT conflict_kind_check CHECK (kind IN ('page', 'attachment', 'record'));

CREATE FUNCTION mirrord.record_took_the_files_text() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = clock_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_text = NEW.text;
    RETURN NULL;
END
$$;
CREATE TRIGGER g_conflict AFTER UPDATE ON mirrord.record
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text)
    EXECUTE FUNCTION mirrord.record_took_the_files_text();

-- What apps read. NULL: the record does not say, or cannot be read.
CREATE VIEW mirrord.category WITH (security_invoker = true) AS
SELECT tenant_id, id, key AS name, data ->> 'dir' AS dir, data -> 'patterns' AS patterns,
       data ->> 'description' AS description, version, updated_at
  FROM mirrord.record WHERE kind = 'category' AND deleted_at IS NULL;

CREATE VIEW mirrord.collection WITH (security_invoker = true) AS
SELECT tenant_id, id, key AS name, data ->> 'description' AS description, data -> 'categories' AS categories,
       version, updated_at
  FROM mirrord.record WHERE kind = 'collection' AND deleted_at IS NULL;

-- One line for every segment of every page: the keys of a segment file.
CREATE VIEW mirrord.segment WITH (security_invoker = true) AS
SELECT record.tenant_id, record.key::uuid AS page_id, each.key AS id, each.value ->> 'kind' AS kind,
       each.value ->> 'label' AS label,
       CASE WHEN jsonb_typeof(each.value -> 'start') = 'number' THEN (each.value ->> 'start')::numeric END AS first,
       CASE WHEN jsonb_typeof(each.value -> 'end') = 'number' THEN (each.value ->> 'end')::numeric END AS behind,
       each.value AS data
  FROM mirrord.record, jsonb_each(record.data) AS each
 WHERE record.kind = 'segment' AND record.deleted_at IS NULL;

-- Who wrote a version that came from a file: the event with that page and digest says it.
CREATE INDEX event_by_text ON mirrord.event ((data ->> 'page_id'), (data ->> 'digest'), tenant_id)
    WHERE data ? 'digest';

GRANT SELECT ON mirrord.record_revision, mirrord.category, mirrord.collection, mirrord.segment TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.record_revision TO mirrord_daemon;
GRANT SELECT ON mirrord.category, mirrord.collection, mirrord.segment TO mirrord_daemon;

-- What is there already begins its history now, one tenant after the other.
ALTER TABLE mirrord.tenant NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        INSERT INTO mirrord.record_revision (tenant_id, record_id, version, kind, key, digest, text, data, deleted,
            actor, created_at)
        SELECT tenant_id, id, version, kind, key, digest, text, data, deleted_at IS NOT NULL, updated_by, updated_at
          FROM mirrord.record WHERE tenant_id = tenant;
    END LOOP;
END
$$;
ALTER TABLE mirrord.tenant FORCE ROW LEVEL SECURITY;

RESET ROLE;
