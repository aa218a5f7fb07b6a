-- An app may give a record another text, as it may a page, and say that a conflict without a sibling is settled: that is
-- how the conflicts of records are settled elsewhere than on the command line.
SET ROLE mirrord_owner;

GRANT UPDATE (text) ON mirrord.record TO mirrord_app;

-- What a text says is read right after it was written; until then `data` is NULL, so that it never belongs to another one.
CREATE FUNCTION mirrord.record_given_text(was mirrord.record, fresh mirrord.record) RETURNS mirrord.record
    LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION mirrord.record_written_by_app(was mirrord.record, fresh mirrord.record) RETURNS mirrord.record
    LANGUAGE plpgsql AS $$
BEGIN
    IF fresh.text IS DISTINCT FROM was.text THEN
        RETURN mirrord.record_given_text(was, fresh);
    END IF;
    IF fresh.data IS NULL AND fresh.data IS DISTINCT FROM was.data THEN
        RAISE EXCEPTION 'the data of % "%" must be an object', fresh.kind, fresh.key USING ERRCODE = 'check_violation';
    END IF;
    -- Also what leaves `data` NULL: `data || …` of it is NULL, and an app would think that it was written.
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

-- A text that an app wrote is in the history at once, also if another follows before it was read.
CREATE OR REPLACE FUNCTION mirrord.record_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.record_revision (tenant_id, record_id, version, kind, key, digest, text, data, deleted, actor)
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

-- Of a page or attachment the sibling says it: deleted or renamed, the conflict is settled. A record has none.
CREATE FUNCTION mirrord.settle_conflict(conflict bigint, how text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not settle conflicts' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF how IS NULL OR how NOT IN ('took-file', 'took-row', 'took-merged') THEN
        RAISE EXCEPTION 'a conflict is settled by took-file, took-row or took-merged' USING ERRCODE = 'check_violation';
    END IF;
    UPDATE mirrord.conflict SET resolved_at = clock_timestamp(), resolution = how, resolved_by = who
     WHERE tenant_id = mirrord.current_tenant() AND id = settle_conflict.conflict AND resolved_at IS NULL
       AND sibling_id IS NULL;
    RETURN FOUND;
END
$$;

REVOKE ALL ON FUNCTION mirrord.settle_conflict FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.settle_conflict TO mirrord_app, mirrord_daemon;

RESET ROLE;
