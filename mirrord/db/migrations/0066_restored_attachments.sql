-- Undos take back attachments that came from the trash with a page or folder.
SET ROLE mirrord_owner;

CREATE FUNCTION mirrord.name_restored_attachment(told record, attachment uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named record;
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
    UPDATE mirrord.attachment_revision AS now SET (actor, change_set) = (SELECT * FROM mirrord.told_author(told))
     WHERE tenant_id = told.tenant_id AND attachment_id = named.attachment_id AND version = named.version;
    UPDATE mirrord.attachment SET updated_by = (mirrord.told_author(told)).author
     WHERE tenant_id = told.tenant_id AND id = named.attachment_id AND version = named.version;
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

REVOKE EXECUTE ON FUNCTION mirrord.name_restored_attachment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.name_restored_attachment TO mirrord_daemon;

RESET ROLE;
