-- Change sets: the changes of pages, attachments and records that belong together.
SET ROLE mirrord_owner;

-- kind: draft, begun and applied by an agent; connection, what one connection of an agent changed outside drafts; undo,
-- the inverse of others. Only mirrord writes rows; apps ask for an undo with undo_change_set().
CREATE TABLE mirrord.change_set (
    tenant_id  uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    kind       text NOT NULL CHECK (kind IN ('draft', 'connection', 'undo')),
    title      text NOT NULL,
    message    text,
    actor      jsonb NOT NULL,
    client     text,                        -- the program of an agent
    undoes     uuid,                        -- of an undo: the change set; NULL: changes chosen by author and time
    partial    boolean NOT NULL DEFAULT false,  -- of an undo: whether it leaves what clashes and does the rest
    state      text NOT NULL DEFAULT 'applied' CHECK (state IN ('requested', 'applied', 'refused')),
    outcome    jsonb,                       -- of an undo: what was done and left, or why it was refused
    started_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz,                 -- NULL: not applied, or the changes of a connection, which come one by one
    undone_by  uuid,                        -- the change set that undid it; NULL: none, or that was undone
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX change_set_by_time ON mirrord.change_set (tenant_id, started_at);
CREATE INDEX change_set_requested ON mirrord.change_set (started_at, tenant_id) WHERE state = 'requested';

-- Asks mirrord to undo a change set; the answer is in the row whose id is returned. partial: leave what clashes.
CREATE FUNCTION mirrord.undo_change_set(id uuid, partial boolean DEFAULT false) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := mirrord.current_tenant();
    undone mirrord.change_set;
    request uuid;
BEGIN
    SELECT * INTO undone FROM mirrord.change_set AS known
     WHERE known.tenant_id = tenant AND known.id = undo_change_set.id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no change set %', undo_change_set.id USING ERRCODE = 'no_data_found',
            HINT = 'SELECT id, title FROM mirrord.change_set lists them.';
    END IF;
    INSERT INTO mirrord.change_set (tenant_id, kind, title, actor, undoes, partial, state)
    VALUES (tenant, 'undo', 'Undo of ' || undone.title, mirrord.current_actor(), undone.id,
        coalesce(undo_change_set.partial, false), 'requested')
    RETURNING change_set.id INTO request;
    PERFORM pg_notify(mirrord.channel(tenant), 'undo');
    RETURN request;
END
$$;
REVOKE ALL ON FUNCTION mirrord.undo_change_set FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.undo_change_set TO mirrord_app, mirrord_daemon;

-- Authors of versions -------------------------------------------------------------------------------------------------

-- The author and the change set that an event of a command tells. A change set of another author is not told: everybody
-- who may append events could put changes into it.
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

-- The names that version_of_event() compares: of the page or folder whose file or directory is at a path.
CREATE FUNCTION mirrord.name_in_path(path text) RETURNS text
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT regexp_replace(regexp_replace(path, '(/_index)?\.md$', ''), '^.*/', '');
END;

-- The versions without an author that a command's event about a page tells of, the nearest in time of each kind: one
-- with its digest, one at its place, the deletion, or the loss of its text where attachments below keep the folder. A
-- version is made after its event, except for differences of the clocks of two hosts; the text of a move is no older than
-- the move.
CREATE FUNCTION mirrord.told_versions(told record, page uuid) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    WITH candidate AS (
        SELECT now.version, now.created_at,
               CASE WHEN told.type LIKE '%Deleted'
                    THEN CASE WHEN now.deleted AND NOT coalesce(was.deleted, false) THEN 'deletion'
                              WHEN NOT now.deleted AND now.digest IS NULL AND was.digest IS NOT NULL THEN 'loss' END
                    WHEN now.deleted THEN NULL
                    WHEN told.data ? 'old_path' AND was.version IS NOT NULL
                         AND ((now.parent_id, now.name) IS DISTINCT FROM (was.parent_id, was.name)
                              OR now.index <> was.index)
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

-- The same for an attachment that was added beside a page, or replaced: that of its folder, or its own if it is one. No
-- statement about a table has *told* as a whole: Citus sends no records to nodes.
CREATE FUNCTION mirrord.name_attachment(told record) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named record;
    told_by record;
BEGIN
    SELECT now.attachment_id, now.version INTO named
      FROM mirrord.attachment AS held JOIN mirrord.attachment_revision AS now
        ON now.tenant_id = held.tenant_id AND now.attachment_id = held.id AND now.digest = held.digest
     WHERE held.tenant_id = told.tenant_id AND held.digest = decode(told.data ->> 'digest', 'hex')
       AND (held.parent_id = (told.data ->> 'page_id')::uuid OR EXISTS (
                SELECT FROM mirrord.page AS known
                 WHERE known.tenant_id = told.tenant_id AND known.id = (told.data ->> 'page_id')::uuid
                   AND known.parent_id IS NOT DISTINCT FROM held.parent_id))
       AND NOT now.deleted
       AND now.actor = '{"kind": "human", "name": "file"}' AND now.created_at > told.occurred_at - interval '5 s'
     ORDER BY right(told.data ->> 'path', length(held.name)) = held.name DESC,
              abs(extract(epoch FROM now.created_at - told.occurred_at)), now.version LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT * INTO told_by FROM mirrord.told_author(told);
    UPDATE mirrord.attachment_revision AS now SET actor = told_by.author, change_set = told_by.change_set
     WHERE tenant_id = told.tenant_id AND attachment_id = named.attachment_id AND version = named.version;
    UPDATE mirrord.attachment SET updated_by = told_by.author
     WHERE tenant_id = told.tenant_id AND id = named.attachment_id AND version = named.version;
    RETURN true;
END
$$;

-- The same for an attachment that went to another folder with a page.
CREATE FUNCTION mirrord.name_moved_attachment(told record, attachment uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named bigint;
    told_by record;
BEGIN
    SELECT now.version INTO named
      FROM mirrord.attachment_revision AS now JOIN mirrord.attachment_revision AS was
        ON was.tenant_id = now.tenant_id AND was.attachment_id = now.attachment_id AND was.version = now.version - 1
     WHERE now.tenant_id = told.tenant_id AND now.attachment_id = name_moved_attachment.attachment
       AND NOT now.deleted AND (now.parent_id, now.name) IS DISTINCT FROM (was.parent_id, was.name)
       AND right(told.data ->> 'path', length(ltrim(now.name, './'))) = ltrim(now.name, './')
       AND now.actor = '{"kind": "human", "name": "file"}' AND now.created_at > told.occurred_at - interval '5 s'
     ORDER BY abs(extract(epoch FROM now.created_at - told.occurred_at)), now.version LIMIT 1;
    IF named IS NULL THEN
        RETURN false;
    END IF;
    SELECT * INTO told_by FROM mirrord.told_author(told);
    UPDATE mirrord.attachment_revision AS now SET actor = told_by.author, change_set = told_by.change_set
     WHERE tenant_id = told.tenant_id AND attachment_id = name_moved_attachment.attachment AND version = named;
    UPDATE mirrord.attachment AS known SET updated_by = told_by.author
     WHERE tenant_id = told.tenant_id AND known.id = name_moved_attachment.attachment AND version = named;
    RETURN true;
END
$$;

-- The same for an attachment that came back from the trash with a page or folder; attachment: its id, if it kept it.
CREATE FUNCTION mirrord.name_restored_attachment(told record, attachment uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named record;
    told_by record;
BEGIN
    SELECT now.attachment_id, now.version INTO named
      FROM mirrord.attachment AS held
      JOIN mirrord.attachment_revision AS now ON now.tenant_id = held.tenant_id AND now.attachment_id = held.id
      LEFT JOIN mirrord.attachment_revision AS was
        ON was.tenant_id = now.tenant_id AND was.attachment_id = now.attachment_id AND was.version = now.version - 1
     WHERE held.tenant_id = told.tenant_id AND held.digest = decode(told.data ->> 'digest', 'hex')
       AND (held.id = name_restored_attachment.attachment
            OR right(told.data ->> 'path', length(ltrim(now.name, './'))) = ltrim(now.name, './'))
       AND NOT now.deleted AND coalesce(was.deleted, true)
       AND now.actor = '{"kind": "human", "name": "file"}' AND now.created_at > told.occurred_at - interval '5 s'
     ORDER BY held.id = name_restored_attachment.attachment DESC,
              abs(extract(epoch FROM now.created_at - told.occurred_at)), now.version LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT * INTO told_by FROM mirrord.told_author(told);
    UPDATE mirrord.attachment_revision AS now SET actor = told_by.author, change_set = told_by.change_set
     WHERE tenant_id = told.tenant_id AND attachment_id = named.attachment_id AND version = named.version;
    UPDATE mirrord.attachment SET updated_by = told_by.author
     WHERE tenant_id = told.tenant_id AND id = named.attachment_id AND version = named.version;
    RETURN true;
END
$$;

-- The same for a record; record: its id.
CREATE FUNCTION mirrord.name_record(told record, record uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named bigint;
    told_by record;
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
    SELECT * INTO told_by FROM mirrord.told_author(told);
    UPDATE mirrord.record_revision AS now SET actor = told_by.author, change_set = told_by.change_set
     WHERE tenant_id = told.tenant_id AND record_id = name_record.record AND version = named;
    UPDATE mirrord.record AS known SET updated_by = told_by.author
     WHERE tenant_id = told.tenant_id AND known.id = name_record.record AND version = named;
    RETURN true;
END
$$;

-- What a deleted page or folder held, and no event of its own tells of: attachments, folders without a page, segments.
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

-- The same for a page or folder.
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

-- A tool writes a file and an event with the digest of the file; this names the tool as the author of the version that
-- the file became, and the change set of its connection. A move and a deletion are known by their kind. Returns whether
-- there was such a version: event and version arrive independently, so the caller tries again until it exists.
CREATE FUNCTION mirrord.name_author(of_tenant uuid, event_id uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    form CONSTANT text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    told mirrord.event;
    segments uuid;
BEGIN
    SELECT * INTO told FROM mirrord.event WHERE tenant_id = of_tenant AND id = event_id;
    IF NOT FOUND OR coalesce(told.data ->> 'digest', '00') !~ '^([0-9a-f]{2})*$'
       OR coalesce(told.data ->> 'page_id', told.data ->> 'record_id', '') !~ form
       OR told.type IN ('AttachmentMoved', 'AttachmentRestored') AND coalesce(told.data ->> 'attachment_id', '') !~ form THEN
        RETURN false;
    END IF;
    IF told.data ->> 'page_id' IS NULL THEN
        RETURN mirrord.name_record(told, (told.data ->> 'record_id')::uuid);
    ELSIF told.type = 'AttachmentAdded' THEN
        RETURN mirrord.name_attachment(told);
    ELSIF told.type = 'AttachmentMoved' THEN
        RETURN mirrord.name_moved_attachment(told, (told.data ->> 'attachment_id')::uuid);
    ELSIF told.type = 'AttachmentRestored' THEN
        RETURN mirrord.name_restored_attachment(told, (told.data ->> 'attachment_id')::uuid);
    ELSIF told.type = 'SpeakersDetected' THEN
        SELECT id INTO segments FROM mirrord.record WHERE tenant_id = told.tenant_id AND kind = 'segment'
           AND key = told.data ->> 'page_id' AND deleted_at IS NULL;
        RETURN mirrord.name_record(told, segments);
    END IF;
    RETURN mirrord.name_page(told, (told.data ->> 'page_id')::uuid);
END
$$;

-- The same for several events. Returns those whose version exists.
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

REVOKE EXECUTE ON FUNCTION mirrord.told_author, mirrord.name_in_path, mirrord.told_versions, mirrord.name_attachment,
    mirrord.name_moved_attachment, mirrord.name_restored_attachment, mirrord.name_record, mirrord.name_deleted_with,
    mirrord.name_page, mirrord.name_author, mirrord.name_authors
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.told_author, mirrord.name_in_path, mirrord.told_versions, mirrord.name_attachment,
    mirrord.name_moved_attachment, mirrord.name_restored_attachment, mirrord.name_record, mirrord.name_deleted_with,
    mirrord.name_page, mirrord.name_author, mirrord.name_authors
    TO mirrord_daemon;

RESET ROLE;
