-- Records: categories, collections and segments, with their versions and the views that apps read.
SET ROLE mirrord_owner;

-- Whether a key may be the name of a file; mirrord.domain.record has the same rule.
CREATE FUNCTION mirrord.is_record_key(kind text, key text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN kind IN ('category', 'collection') THEN key COLLATE "C" ~ '^[A-Za-z0-9]([A-Za-z0-9_-]{0,28}[A-Za-z0-9])?$'
        WHEN kind = 'segment' THEN key ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
        ELSE false END;
END;

CREATE TABLE mirrord.record (
    tenant_id  uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    kind       text NOT NULL,
    key        text NOT NULL,
    text       text,
    data       jsonb,                       -- NULL: text is not read yet, or cannot be read
    ahead      text[] NOT NULL DEFAULT '{}',  -- the column that an app wrote and mirrord did not read or render yet
    digest     bytea,
    version    bigint NOT NULL DEFAULT 1,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by jsonb,
    key_slot   text COLLATE "C" GENERATED ALWAYS AS  -- without case; NULL: a tombstone
        (CASE WHEN deleted_at IS NULL THEN lower(key COLLATE "C") END) STORED,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT record_key_is_free UNIQUE (key_slot, kind, tenant_id) DEFERRABLE,
    CONSTRAINT record_is_a_file CHECK (mirrord.is_record_key(kind, key)),
    CONSTRAINT record_data_is_an_object CHECK (jsonb_typeof(data) = 'object')
);
CREATE INDEX record_by_key ON mirrord.record (key, tenant_id);
CREATE INDEX record_tombstones ON mirrord.record (deleted_at, tenant_id) WHERE deleted_at IS NOT NULL;

-- One row a version. A row changes twice at most: the text that mirrord renders after an app wrote data, or the data
-- that mirrord reads after an app wrote the text, is added; both are removed after their time.
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
    change_set uuid,                        -- NULL: none
    text_removed_at timestamptz,            -- when text and data were removed; NULL: they are there
    PRIMARY KEY (tenant_id, record_id, version),
    FOREIGN KEY (tenant_id, record_id) REFERENCES mirrord.record (tenant_id, id)
);
CREATE INDEX record_revision_of_change_set ON mirrord.record_revision (change_set, tenant_id)
    WHERE change_set IS NOT NULL;
CREATE INDEX record_revision_by_digest ON mirrord.record_revision (record_id, digest, tenant_id);

-- Writes of apps -----------------------------------------------------------------------------------------------------

-- mirrord reads a text right after an app wrote it; until then data is NULL, so that it never belongs to another text.
CREATE FUNCTION mirrord.record_given_text(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF fresh.text IS NULL THEN
        RAISE EXCEPTION 'the text of % "%" must not be NULL', fresh.kind, fresh.key USING ERRCODE = 'check_violation';
    END IF;
    IF fresh.data IS DISTINCT FROM was.data THEN
        RAISE EXCEPTION 'write text or data of % "%", not both in one UPDATE', fresh.kind, fresh.key
            USING ERRCODE = 'check_violation';
    END IF;
    fresh.data := NULL;
    fresh.ahead := '{text}';
    fresh.version := was.version + 1;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.record_written_by_app(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF fresh.text IS DISTINCT FROM was.text THEN
        RETURN mirrord.record_given_text(was, fresh);
    END IF;
    IF fresh.data IS NULL AND fresh.data IS DISTINCT FROM was.data THEN
        RAISE EXCEPTION 'the data of % "%" must be an object', fresh.kind, fresh.key USING ERRCODE = 'check_violation';
    END IF;
    -- Also if data stays NULL: `data || …` of NULL is NULL, and the app would believe that its write was stored.
    IF was.ahead = '{text}' AND fresh.deleted_at IS NOT DISTINCT FROM was.deleted_at THEN
        RAISE EXCEPTION 'the text of % "%" is not read yet', fresh.kind, fresh.key
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Write the text anew if mirrord.problem says that it cannot be read, else the data in a moment.';
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

-- Writes of mirrord --------------------------------------------------------------------------------------------------

-- As for pages: a text that completes an app's write belongs to the version of that write.
CREATE FUNCTION mirrord.record_written_by_mirrord(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    fresh.version := was.version;
    IF (fresh.deleted_at, fresh.kind, fresh.key) IS DISTINCT FROM (was.deleted_at, was.kind, was.key)
       OR was.ahead = '{}' AND fresh.text IS DISTINCT FROM was.text THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.record_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app() THEN
            NEW.version := 1;
            NEW.ahead := '{data}';
            NEW.data := coalesce(NEW.data, '{}');
        END IF;
        IF NOT mirrord.by_mirrord() THEN  -- as for pages
            NEW.text := NULL;
            NEW.digest := NULL;
            NEW.deleted_at := NULL;
            NEW.created_at := now();
        END IF;
    ELSIF mirrord.by_mirrord() AND NOT mirrord.by_trigger_of_app() THEN
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
CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.record FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.record_before();
CREATE TRIGGER c_next_version BEFORE UPDATE ON mirrord.record FOR EACH ROW
    WHEN (current_setting('mirrord.next_version', true) = 'on')
    EXECUTE FUNCTION mirrord.next_version();

-- History ------------------------------------------------------------------------------------------------------------

-- A text that an app wrote is in the history at once, also if another follows before mirrord read it. A row that
-- returns as its tombstone (put_back) has its history already.
CREATE FUNCTION mirrord.record_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM mirrord.record_revision
                WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND version = NEW.version) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.record_revision (tenant_id, record_id, version, kind, key, digest, text, data, deleted,
            actor)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.kind, NEW.key,
            CASE WHEN NEW.ahead = '{}' THEN NEW.digest END, CASE WHEN NEW.ahead IN ('{}', '{text}') THEN NEW.text END,
            NEW.data, NEW.deleted_at IS NOT NULL, NEW.updated_by);
    ELSIF (NEW.text, NEW.digest) IS DISTINCT FROM (OLD.text, OLD.digest) OR NEW.ahead <> OLD.ahead THEN
        UPDATE mirrord.record_revision SET text = NEW.text, digest = NEW.digest, data = NEW.data
         WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND version = NEW.version;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.record FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.record_history();

-- Views for apps -----------------------------------------------------------------------------------------------------

-- A column is NULL if the record does not have the key, or cannot be read.
CREATE VIEW mirrord.category WITH (security_invoker = true) AS
SELECT tenant_id, id, key AS name, data ->> 'dir' AS dir, data -> 'patterns' AS patterns,
       data ->> 'description' AS description, version, updated_at
  FROM mirrord.record WHERE kind = 'category' AND deleted_at IS NULL;

CREATE VIEW mirrord.collection WITH (security_invoker = true) AS
SELECT tenant_id, id, key AS name, data ->> 'description' AS description, data -> 'categories' AS categories,
       version, updated_at
  FROM mirrord.record WHERE kind = 'collection' AND deleted_at IS NULL;

-- One row a segment of a page. detached: the text is no longer in the page.
CREATE VIEW mirrord.segment WITH (security_invoker = true) AS
SELECT record.tenant_id, record.key::uuid AS page_id, each.key AS id, each.value ->> 'kind' AS kind,
       each.value ->> 'label' AS label,
       CASE WHEN jsonb_typeof(each.value -> 'start') = 'number' THEN (each.value ->> 'start')::numeric END AS first,
       CASE WHEN jsonb_typeof(each.value -> 'end') = 'number' THEN (each.value ->> 'end')::numeric END AS behind,
       each.value AS data, each.value ->> 'created_by' AS created_by, each.value ->> 'quote' AS quote,
       coalesce(each.value -> 'detached' = 'true', false) AS detached
  FROM mirrord.record, jsonb_each(record.data) AS each
 WHERE record.kind = 'segment' AND record.deleted_at IS NULL;

RESET ROLE;
