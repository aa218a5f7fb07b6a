-- Undos give attachments that moved with a page their place again, folder pages their text, and files their names.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page_revision ADD COLUMN index boolean;

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
            parent_id, name, deleted, actor, op_id, parents, index)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.digest, NEW.markdown, NEW.frontmatter,
            CASE WHEN NEW.ahead <> '{}' THEN mirrord.page_views(NEW) END, NEW.parent_id, NEW.name,
            NEW.deleted_at IS NOT NULL, NEW.updated_by,
            coalesce(NEW.op_id, nullif(current_setting('mirrord.op_id', true), '')::uuid),
            coalesce(nullif(current_setting('mirrord.parents', true), '')::bigint[],
                     CASE WHEN TG_OP = 'INSERT' THEN '{}'::bigint[] ELSE ARRAY[OLD.version] END),
            NEW.index);
    ELSIF (NEW.markdown, NEW.digest, NEW.name, NEW.index)
          IS DISTINCT FROM (OLD.markdown, OLD.digest, OLD.name, OLD.index) THEN
        UPDATE mirrord.page_revision
           SET markdown = NEW.markdown, digest = NEW.digest, frontmatter = NEW.frontmatter, name = NEW.name,
               index = NEW.index
         WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version;
    END IF;
    RETURN NULL;
END
$$;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

CREATE OR REPLACE FUNCTION mirrord.told_versions(told record, page uuid) RETURNS SETOF bigint
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

CREATE FUNCTION mirrord.name_moved_attachment(told record, attachment uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named bigint;
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
    UPDATE mirrord.attachment_revision AS now SET (actor, change_set) = (SELECT * FROM mirrord.told_author(told))
     WHERE tenant_id = told.tenant_id AND attachment_id = name_moved_attachment.attachment AND version = named;
    UPDATE mirrord.attachment AS known SET updated_by = (mirrord.told_author(told)).author
     WHERE tenant_id = told.tenant_id AND known.id = name_moved_attachment.attachment AND version = named;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.name_author(of_tenant uuid, event_id uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    form CONSTANT text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    told mirrord.event;
    segments uuid;
BEGIN
    SELECT * INTO told FROM mirrord.event WHERE tenant_id = of_tenant AND id = event_id;
    IF NOT FOUND OR coalesce(told.data ->> 'digest', '00') !~ '^([0-9a-f]{2})*$'
       OR coalesce(told.data ->> 'page_id', told.data ->> 'record_id', '') !~ form
       OR told.type = 'AttachmentMoved' AND coalesce(told.data ->> 'attachment_id', '') !~ form THEN
        RETURN false;
    END IF;
    IF told.data ->> 'page_id' IS NULL THEN
        RETURN mirrord.name_record(told, (told.data ->> 'record_id')::uuid);
    ELSIF told.type = 'AttachmentAdded' THEN
        RETURN mirrord.name_attachment(told);
    ELSIF told.type = 'AttachmentMoved' THEN
        RETURN mirrord.name_moved_attachment(told, (told.data ->> 'attachment_id')::uuid);
    ELSIF told.type = 'SpeakersDetected' THEN
        SELECT id INTO segments FROM mirrord.record WHERE tenant_id = told.tenant_id AND kind = 'segment'
           AND key = told.data ->> 'page_id' AND deleted_at IS NULL;
        RETURN mirrord.name_record(told, segments);
    END IF;
    RETURN mirrord.name_page(told, (told.data ->> 'page_id')::uuid);
END
$$;

REVOKE EXECUTE ON FUNCTION mirrord.name_moved_attachment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.name_moved_attachment TO mirrord_daemon;

RESET ROLE;
