-- On a cluster, transactions that hold no lease may follow one that did in the same session: an undo, for instance. And
-- no statement about a table has a record as a whole, which Citus sends to no node.
SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.name_attachment(told record) RETURNS boolean
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

CREATE OR REPLACE FUNCTION mirrord.name_moved_attachment(told record, attachment uuid) RETURNS boolean
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

CREATE OR REPLACE FUNCTION mirrord.name_restored_attachment(told record, attachment uuid) RETURNS boolean
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

CREATE OR REPLACE FUNCTION mirrord.name_record(told record, record uuid) RETURNS boolean
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

-- An older installation has this function from the definer, a newer one from the owner.
GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
DO $$
BEGIN
    EXECUTE format('SET ROLE %I', (SELECT pg_get_userbyid(proowner) FROM pg_proc
                                    WHERE oid = 'mirrord.writing_mirror()'::regprocedure));
END
$$;

CREATE OR REPLACE FUNCTION mirrord.writing_mirror() RETURNS uuid
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT substring(current_setting('mirrord.mirror', true)
                     FROM '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
END;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

RESET ROLE;
