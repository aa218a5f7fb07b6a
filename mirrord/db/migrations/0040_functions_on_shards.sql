-- The same functions on one server and on the shards of a cluster (docs/decisions/0070): rows of triggers have any type,
-- calls of the daemon name the tenant, and what is written in an UPDATE has the time of its statement.
SET ROLE mirrord_owner;

CREATE FUNCTION mirrord.no_tenant(setting text) RETURNS uuid
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF setting <> '' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'mirrord.tenant is not set'
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Connect with the string that `mirrord dsn` prints, or begin the transaction '
                     'with SET LOCAL mirrord.tenant = ''…''.';
END
$$;

CREATE OR REPLACE FUNCTION mirrord.current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN coalesce(current_setting('mirrord.tenant', true), '') = ''
                THEN mirrord.no_tenant(coalesce(current_setting('mirrord.tenant', true), ''))
                ELSE current_setting('mirrord.tenant')::uuid END;
END;

DROP FUNCTION mirrord.no_tenant();
DROP FUNCTION mirrord.written_views(mirrord.page, mirrord.page);
DROP FUNCTION mirrord.page_inserted_by_app(mirrord.page);
DROP FUNCTION mirrord.page_updated_by_app(mirrord.page, mirrord.page);
DROP FUNCTION mirrord.page_updated_by_mirrord(mirrord.page, mirrord.page);
DROP FUNCTION mirrord.page_views(mirrord.page);
DROP FUNCTION mirrord.record_given_text(mirrord.record, mirrord.record);
DROP FUNCTION mirrord.record_written_by_app(mirrord.record, mirrord.record);
DROP FUNCTION mirrord.record_written_by_mirrord(mirrord.record, mirrord.record);
DROP FUNCTION mirrord.name_author(uuid);
DROP FUNCTION mirrord.name_attachment(mirrord.event);
DROP FUNCTION mirrord.name_record(mirrord.event, uuid);
DROP FUNCTION mirrord.name_deleted_with(mirrord.event, uuid);
DROP FUNCTION mirrord.name_page(mirrord.event, uuid);
DROP FUNCTION mirrord.told_author(mirrord.event);
DROP FUNCTION mirrord.told_versions(mirrord.event, uuid);
DROP FUNCTION mirrord.finish_changes();
DROP FUNCTION mirrord.finish_followed(bigint, bigint);
DROP FUNCTION mirrord.hold_lease(uuid, bigint);
DROP FUNCTION mirrord.begin_writing(uuid, bigint, text);

CREATE FUNCTION mirrord.written_views(was record, now record) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN array_remove(ARRAY[
        CASE WHEN now.title IS DISTINCT FROM was.title THEN 'title' END,
        CASE WHEN now.icon IS DISTINCT FROM was.icon THEN 'icon' END,
        CASE WHEN now.position IS DISTINCT FROM was.position THEN 'position' END,
        CASE WHEN now.frontmatter IS DISTINCT FROM was.frontmatter THEN 'frontmatter' END,
        CASE WHEN now.content IS DISTINCT FROM was.content AND now.content IS NOT NULL THEN 'content' END], NULL);
END
$$;

CREATE FUNCTION mirrord.page_inserted_by_app(fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    nothing mirrord.page;
    written text[];
BEGIN
    nothing.tenant_id := NULL;  -- a row of which every column is NULL, not a row that is NULL
    written := mirrord.written_views(nothing, fresh);
    IF fresh.markdown IS NOT NULL AND 'content' = ANY (written) THEN
        PERFORM mirrord.refuse_both('{content}');
    END IF;
    PERFORM mirrord.refuse_reserved(fresh.name);
    IF EXISTS (SELECT FROM mirrord.page
               WHERE tenant_id = fresh.tenant_id AND id = fresh.parent_id AND deleted_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the parent % is deleted', fresh.parent_id USING ERRCODE = 'foreign_key_violation',
            HINT = 'Restore it first: UPDATE mirrord.page SET deleted_at = NULL WHERE id = …';
    END IF;
    IF fresh.markdown IS NOT NULL OR written <> '{}' THEN
        fresh.kind := 'page';
    END IF;
    fresh.ahead := CASE WHEN fresh.kind = 'page' THEN written || 'id'::text ELSE '{}' END;
    fresh.version := 1;
    fresh.name_key := NULL;
    fresh.index := false;
    fresh.digest := NULL;
    IF NOT mirrord.by_mirrord() THEN  -- what an app may not set; on a cluster it may name every column (20_security.sql)
        fresh.deleted_at := NULL;
        fresh.created_at := now();
        fresh.prior := NULL;
        fresh.confirmed := NULL;
        fresh.op_id := NULL;
    END IF;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.page_updated_by_app(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    written text[] := mirrord.written_views(was, fresh);
    moved boolean := fresh.parent_id IS DISTINCT FROM was.parent_id OR fresh.name IS DISTINCT FROM was.name;
BEGIN
    IF fresh.markdown IS DISTINCT FROM was.markdown THEN
        IF written <> '{}' THEN
            PERFORM mirrord.refuse_both(written);
        END IF;
        IF fresh.markdown IS NULL THEN
            RAISE EXCEPTION 'markdown cannot be set to NULL' USING ERRCODE = 'not_null_violation',
                HINT = 'To empty a page write ''''; to delete it set deleted_at or use DELETE.';
        END IF;
        fresh.kind := 'page';
        fresh.content := NULL;
        fresh.digest := NULL;
        fresh.ahead := '{}';
    ELSE
        fresh.content := coalesce(fresh.content, was.content);
        IF written <> '{}' THEN
            fresh.ahead := ARRAY(SELECT DISTINCT unnest(was.ahead || written) ORDER BY 1);
        END IF;
    END IF;
    IF moved THEN
        IF fresh.name IS DISTINCT FROM was.name THEN
            PERFORM mirrord.refuse_reserved(fresh.name);
        END IF;
        fresh.name_key := NULL;
    END IF;
    IF fresh.deleted_at IS DISTINCT FROM was.deleted_at THEN
        fresh.name_key := NULL;
    END IF;
    IF moved OR written <> '{}' OR fresh.markdown IS DISTINCT FROM was.markdown
       OR fresh.deleted_at IS DISTINCT FROM was.deleted_at THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.page_updated_by_mirrord(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    renders boolean := was.ahead <> '{}';
    places boolean := was.name_key IS NULL AND was.deleted_at IS NULL;
BEGIN
    IF fresh.deleted_at IS NOT NULL AND was.deleted_at IS NULL THEN
        fresh.name_key := NULL;
    END IF;
    fresh.version := was.version;
    IF fresh.deleted_at IS DISTINCT FROM was.deleted_at
       OR NOT renders AND (fresh.markdown, fresh.kind) IS DISTINCT FROM (was.markdown, was.kind)
       OR NOT renders AND NOT places AND fresh.index IS DISTINCT FROM was.index
       OR NOT places AND (fresh.parent_id, fresh.name) IS DISTINCT FROM (was.parent_id, was.name) THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.page_views(page record) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(page)) WHERE key = ANY (page.ahead));
END
$$;

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

CREATE FUNCTION mirrord.constraint_of(of_table name, named text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT named || coalesce(substring(of_table::text, '_\d+$'), '');
END;

CREATE OR REPLACE FUNCTION mirrord.holds_life(tenant uuid, folder uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM mirrord.page
                    WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL)
        OR EXISTS (SELECT FROM mirrord.attachment
                    WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL);
END
$$;

CREATE OR REPLACE FUNCTION mirrord.check_parents_later() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('SET CONSTRAINTS mirrord.%I DEFERRED', mirrord.constraint_of(TG_TABLE_NAME, 'page_parent_exists'));
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.check_parents_now() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('SET CONSTRAINTS mirrord.%I IMMEDIATE', mirrord.constraint_of(TG_TABLE_NAME, 'page_parent_exists'));
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.hold_lease(of_tenant uuid, held_mirror uuid, held_token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.mirror
      WHERE tenant_id = of_tenant AND id = held_mirror
        AND token = held_token AND expires_at > clock_timestamp()
        FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on mirror % is lost', held_mirror USING ERRCODE = 'MR001';
    END IF;
    PERFORM set_config('mirrord.mirror', held_mirror::text, true);
END
$$;

CREATE FUNCTION mirrord.begin_writing(of_tenant uuid, held_mirror uuid, held_token bigint, writer text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.hold_lease(of_tenant, held_mirror, held_token);
    PERFORM set_config('mirrord.cascade', 'off', true);
    IF writer IS NOT NULL THEN
        PERFORM set_config('mirrord.actor', writer, true);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.store_base(of_tenant uuid, held_mirror uuid, held_token bigint, base json) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g record;
    stored_version bigint;
BEGIN
    PERFORM set_config('mirrord.tenant', of_tenant::text, true);
    PERFORM mirrord.hold_lease(of_tenant, held_mirror, held_token);
    SELECT * INTO STRICT g FROM json_to_record(base) AS g (
        entry uuid, kind text, path text, base_parent uuid, base_name text, base_index boolean, version bigint,
        base_digest text, claimed text, saved bigint);
    INSERT INTO mirrord.mirror_base AS b
        (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
    VALUES (of_tenant, held_mirror, g.entry, g.kind, g.path, g.base_parent, g.base_name, g.base_index, g.version,
            decode(g.base_digest, 'hex'), g.claimed, g.saved)
    ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
        kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
        index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
        saved = coalesce(EXCLUDED.saved, b.saved)
    RETURNING b.version INTO stored_version;
    RETURN stored_version;
END
$$;

CREATE FUNCTION mirrord.finish_changes(of_tenant uuid, OUT last_seq bigint, OUT changed_entries bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
    SELECT seq INTO last_seq FROM mirrord.tenant_clock
     WHERE tenant_id = of_tenant AND xid = pg_current_xact_id_if_assigned() AND age(xmin) <= 0;
    SELECT count(*) INTO changed_entries FROM mirrord.entry_feed
     WHERE tenant_id = of_tenant AND seq = last_seq;
    IF current_setting('mirrord.changed_again', true) = last_seq::text THEN
        changed_entries := changed_entries + 1;
    END IF;
END
$$;

CREATE FUNCTION mirrord.finish_followed(of_tenant uuid, expected_entries bigint, followed_seq bigint,
                                        OUT last_seq bigint, OUT changed_entries bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.last_seq, f.changed_entries INTO last_seq, changed_entries FROM mirrord.finish_changes(of_tenant) AS f;
    IF last_seq = followed_seq + 1 AND changed_entries = expected_entries THEN
        UPDATE mirrord.link_cursor SET seq = last_seq, entry_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
         WHERE tenant_id = of_tenant;
        UPDATE mirrord.segment_cursor SET seq = last_seq, entry_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
         WHERE tenant_id = of_tenant;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.read_notifications(events uuid[] DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE mirrord.event SET read_at = statement_timestamp()
     WHERE tenant_id = mirrord.current_tenant() AND read_at IS NULL AND data ->> 'trust' = 'NOTIFY'
       AND (events IS NULL OR id = ANY (events));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.is_restoring() RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant CONSTANT uuid := mirrord.current_tenant();
BEGIN
    RETURN EXISTS (SELECT FROM mirrord.tenant_clock WHERE tenant_id = tenant AND restoring = pg_current_xact_id());
END
$$;

CREATE OR REPLACE FUNCTION mirrord.attachment_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app() THEN
            NEW.version := 1;
            NEW.name_key := NULL;
        END IF;
        IF NOT mirrord.by_mirrord() THEN  -- as for pages
            NEW.deleted_at := NULL;
            NEW.created_at := now();
        END IF;
    ELSE
        IF (NEW.digest, NEW.parent_id, NEW.name, NEW.deleted_at)
           IS DISTINCT FROM (OLD.digest, OLD.parent_id, OLD.name, OLD.deleted_at) THEN
            NEW.version := OLD.version + 1;
        ELSE
            NEW.version := OLD.version;
        END IF;
        IF NEW.deleted_at IS NOT NULL OR (NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app())
           AND (NEW.parent_id, NEW.name, NEW.deleted_at) IS DISTINCT FROM (OLD.parent_id, OLD.name, OLD.deleted_at) THEN
            NEW.name_key := NULL;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.record_before() RETURNS trigger
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

CREATE FUNCTION mirrord.told_author(told record, OUT author jsonb, OUT change_set uuid)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    author := told.actor || jsonb_build_object('channel', told.channel);
    IF told.data ->> 'change_set' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        SELECT known.id INTO change_set FROM mirrord.change_set AS known
         WHERE known.tenant_id = told.tenant_id AND known.id = (told.data ->> 'change_set')::uuid
           AND known.actor = told.actor;
    END IF;
END
$$;

CREATE FUNCTION mirrord.told_versions(told record, page uuid) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    WITH candidate AS (
        SELECT now.version, now.created_at,
               CASE WHEN told.type LIKE '%Deleted'
                    THEN CASE WHEN now.deleted AND NOT coalesce(was.deleted, false) THEN 'deletion' END
                    WHEN now.deleted THEN NULL
                    WHEN told.data ? 'old_path' AND was.version IS NOT NULL
                         AND (now.parent_id, now.name) IS DISTINCT FROM (was.parent_id, was.name)
                         AND now.name = mirrord.name_in_path(told.data ->> 'path') THEN 'place'
                    WHEN (was.deleted OR was.version IS NULL OR now.digest IS DISTINCT FROM was.digest)
                         AND encode(now.digest, 'hex') = told.data ->> 'digest' THEN 'text'
                    WHEN told.type = 'PageRestored' AND was.deleted THEN 'text' END AS kind
          FROM mirrord.page_revision AS now
          LEFT JOIN mirrord.page_revision AS was
            ON was.tenant_id = now.tenant_id AND was.page_id = now.page_id AND was.version = now.version - 1
         WHERE now.tenant_id = told.tenant_id AND now.page_id = told_versions.page
           AND now.version > (SELECT version FROM mirrord.page AS known
                               WHERE known.tenant_id = told.tenant_id AND known.id = told_versions.page) - 100
           AND now.actor = '{"kind": "human", "name": "file"}'
           AND now.created_at > told.occurred_at - interval '5 s'),
    nearest AS (
        SELECT DISTINCT ON (kind) kind, version, created_at FROM candidate WHERE kind IS NOT NULL
         ORDER BY kind, abs(extract(epoch FROM created_at - told.occurred_at)), version)
    SELECT version FROM nearest
     WHERE kind <> 'text' OR NOT told.data ? 'old_path'
        OR EXISTS (SELECT FROM nearest AS place WHERE place.kind = 'place'
                      AND (place.version < nearest.version OR place.created_at = nearest.created_at));
END
$$;

CREATE FUNCTION mirrord.name_attachment(told record) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named record;
BEGIN
    SELECT now.attachment_id, now.version INTO named
      FROM mirrord.attachment AS held JOIN mirrord.attachment_revision AS now
        ON now.tenant_id = held.tenant_id AND now.attachment_id = held.id AND now.digest = held.digest
     WHERE held.tenant_id = told.tenant_id AND held.digest = decode(told.data ->> 'digest', 'hex')
       AND held.parent_id IS NOT DISTINCT FROM (told.data ->> 'page_id')::uuid AND NOT now.deleted
       AND now.actor = '{"kind": "human", "name": "file"}' AND now.created_at > told.occurred_at - interval '5 s'
     ORDER BY abs(extract(epoch FROM now.created_at - told.occurred_at)), now.version LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE mirrord.attachment_revision AS now SET (actor, change_set) = (SELECT * FROM mirrord.told_author(told))
     WHERE tenant_id = told.tenant_id AND attachment_id = named.attachment_id AND version = named.version;
    UPDATE mirrord.attachment SET updated_by = (mirrord.told_author(told)).author
     WHERE tenant_id = told.tenant_id AND id = named.attachment_id AND version = named.version;
    RETURN true;
END
$$;

CREATE FUNCTION mirrord.name_record(told record, record uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named bigint;
BEGIN
    SELECT version INTO named FROM mirrord.record_revision AS now
     WHERE now.tenant_id = told.tenant_id AND now.record_id = name_record.record
       AND now.deleted = (told.type LIKE '%Removed' OR told.type LIKE '%Deleted')
       AND (now.deleted OR told.type = 'SpeakersDetected' OR encode(now.digest, 'hex') = told.data ->> 'digest')
       AND now.actor = '{"kind": "human", "name": "file"}' AND now.created_at > told.occurred_at - interval '5 s'
     ORDER BY abs(extract(epoch FROM now.created_at - told.occurred_at)), version LIMIT 1;
    IF named IS NULL THEN
        RETURN false;
    END IF;
    UPDATE mirrord.record_revision AS now SET (actor, change_set) = (SELECT * FROM mirrord.told_author(told))
     WHERE tenant_id = told.tenant_id AND record_id = name_record.record AND version = named;
    UPDATE mirrord.record AS known SET updated_by = (mirrord.told_author(told)).author
     WHERE tenant_id = told.tenant_id AND known.id = name_record.record AND version = named;
    RETURN true;
END
$$;

CREATE FUNCTION mirrord.name_deleted_with(told record, folder uuid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    someone CONSTANT jsonb := '{"kind": "human", "name": "file"}';
    since CONSTANT timestamptz := told.occurred_at - interval '5 s';
    told_by record;
    held record;
BEGIN
    SELECT * INTO told_by FROM mirrord.told_author(told);
    FOR held IN SELECT id, version FROM mirrord.attachment
                 WHERE tenant_id = told.tenant_id AND parent_id = folder AND deleted_at > since
                   AND updated_by = someone LOOP
        UPDATE mirrord.attachment_revision SET actor = told_by.author, change_set = told_by.change_set
         WHERE tenant_id = told.tenant_id AND attachment_id = held.id AND version = held.version;
        UPDATE mirrord.attachment SET updated_by = told_by.author
         WHERE tenant_id = told.tenant_id AND id = held.id AND version = held.version;
    END LOOP;
    FOR held IN SELECT id, version FROM mirrord.page
                 WHERE tenant_id = told.tenant_id AND parent_id = folder AND deleted_at > since AND kind = 'folder'
                   AND updated_by = someone LOOP
        UPDATE mirrord.page_revision SET actor = told_by.author, change_set = told_by.change_set
         WHERE tenant_id = told.tenant_id AND page_id = held.id AND version = held.version;
        UPDATE mirrord.page SET updated_by = told_by.author
         WHERE tenant_id = told.tenant_id AND id = held.id AND version = held.version;
        PERFORM mirrord.name_deleted_with(told, held.id);
    END LOOP;
    PERFORM mirrord.name_record(told, id) FROM mirrord.record
      WHERE tenant_id = told.tenant_id AND kind = 'segment' AND key = folder::text AND deleted_at > since;
END
$$;

CREATE FUNCTION mirrord.name_page(told record, page uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named bigint[] := ARRAY(SELECT mirrord.told_versions(told, name_page.page));
    told_by record;
BEGIN
    IF named = '{}' THEN
        RETURN false;
    END IF;
    SELECT * INTO told_by FROM mirrord.told_author(told);
    UPDATE mirrord.page_revision AS now SET actor = told_by.author, change_set = told_by.change_set
     WHERE tenant_id = told.tenant_id AND page_id = name_page.page AND version = ANY (named);
    UPDATE mirrord.page AS known SET updated_by = told_by.author
     WHERE tenant_id = told.tenant_id AND known.id = name_page.page AND version = ANY (named);
    IF told.type LIKE '%Deleted' THEN
        PERFORM mirrord.name_deleted_with(told, name_page.page);
    END IF;
    RETURN true;
END
$$;

CREATE FUNCTION mirrord.name_author(of_tenant uuid, event_id uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    form CONSTANT text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    told mirrord.event;
    segments uuid;
BEGIN
    SELECT * INTO told FROM mirrord.event WHERE tenant_id = of_tenant AND id = event_id;
    IF NOT FOUND OR coalesce(told.data ->> 'digest', '00') !~ '^([0-9a-f]{2})*$'
       OR coalesce(told.data ->> 'page_id', told.data ->> 'record_id', '') !~ form THEN
        RETURN false;
    END IF;
    IF told.data ->> 'page_id' IS NULL THEN
        RETURN mirrord.name_record(told, (told.data ->> 'record_id')::uuid);
    ELSIF told.type = 'AttachmentAdded' THEN
        RETURN mirrord.name_attachment(told);
    ELSIF told.type = 'SpeakersDetected' THEN
        SELECT id INTO segments FROM mirrord.record WHERE tenant_id = told.tenant_id AND kind = 'segment'
           AND key = told.data ->> 'page_id' AND deleted_at IS NULL;
        RETURN mirrord.name_record(told, segments);
    END IF;
    RETURN mirrord.name_page(told, (told.data ->> 'page_id')::uuid);
END
$$;

CREATE FUNCTION mirrord.name_authors(of_tenant uuid, events uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    told uuid;
BEGIN
    FOREACH told IN ARRAY events LOOP
        IF mirrord.name_author(of_tenant, told) THEN
            RETURN NEXT told;
        END IF;
    END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION mirrord.told_author, mirrord.told_versions, mirrord.name_attachment, mirrord.name_record,
    mirrord.name_deleted_with, mirrord.name_page, mirrord.name_author, mirrord.name_authors FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.told_author, mirrord.told_versions, mirrord.name_attachment, mirrord.name_record,
    mirrord.name_deleted_with, mirrord.name_page, mirrord.name_author, mirrord.name_authors TO mirrord_daemon;

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

CREATE OR REPLACE FUNCTION mirrord.ring(tenant uuid, entry uuid, entry_kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    current_seq bigint;
    known_kind text;
BEGIN
    SELECT seq INTO current_seq FROM mirrord.tenant_clock
     WHERE tenant_id = tenant AND xid = pg_current_xact_id() AND age(xmin) <= 0;
    IF NOT FOUND THEN
        UPDATE mirrord.tenant_clock SET seq = seq + 1, xid = pg_current_xact_id()
         WHERE tenant_id = tenant RETURNING seq INTO STRICT current_seq;
        -- The payload means nothing to apps, and a notification may be lost: readers read the feed, and poll it, too.
        IF coalesce(nullif(current_setting('mirrord.notify', true), ''), 'on') = 'on' THEN
            PERFORM pg_notify(mirrord.channel(tenant), current_seq::text);
        END IF;
    END IF;
    INSERT INTO mirrord.entry_feed AS feed (tenant_id, entry_id, kind, seq)
    VALUES (tenant, entry, entry_kind, current_seq)
    ON CONFLICT (tenant_id, entry_id) DO UPDATE SET seq = EXCLUDED.seq WHERE feed.seq <> EXCLUDED.seq
    RETURNING feed.kind INTO known_kind;
    IF NOT FOUND THEN
        PERFORM set_config('mirrord.changed_again', current_seq::text, true);
        SELECT kind INTO STRICT known_kind FROM mirrord.entry_feed WHERE tenant_id = tenant AND entry_id = entry;
    END IF;
    IF known_kind <> entry_kind THEN
        RAISE EXCEPTION 'the id % is already that of a %', entry, known_kind USING ERRCODE = 'unique_violation';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.sibling_changed() RETURNS trigger
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

CREATE OR REPLACE FUNCTION mirrord.page_took_the_files_text() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_text = NEW.markdown;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.attachment_took_the_files_bytes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_digest = NEW.digest;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.record_took_the_files_text() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = 'same-text', resolved_by = NEW.updated_by
     WHERE tenant_id = NEW.tenant_id AND entry_id = NEW.id AND resolved_at IS NULL AND file_text = NEW.text;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.settle_conflict(conflict bigint, how text) RETURNS boolean
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

CREATE OR REPLACE FUNCTION mirrord.decide_halt(halt bigint, verdict text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not decide about halts' USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE mirrord.halt SET decision = verdict, decided_at = statement_timestamp(), decided_by = who
     WHERE tenant_id = mirrord.current_tenant() AND id = decide_halt.halt AND closed_at IS NULL;
    RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.decide(request uuid, verdict text, reason text, channel text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asked mirrord.approval;
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not decide about requests' USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT * INTO asked FROM mirrord.approval WHERE tenant_id = mirrord.current_tenant() AND id = request FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no request %', request USING ERRCODE = 'no_data_found';
    END IF;
    IF asked.state <> 'pending' OR asked.expires_at <= clock_timestamp() THEN
        RAISE EXCEPTION 'request % is %, so nobody decides about it any more', request,
            CASE WHEN asked.state = 'pending' THEN 'expired' ELSE asked.state END
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE mirrord.approval
       SET state = verdict, decided_at = statement_timestamp(),
           decision = jsonb_build_object('by', who, 'reason', reason, 'channel', channel)
     WHERE tenant_id = asked.tenant_id AND id = request;
END
$$;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;
