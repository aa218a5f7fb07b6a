-- What an agent adds beside a page is in the folder of that page: such attachments had no author and no change set.
SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.name_attachment(told record) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named record;
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
    UPDATE mirrord.attachment_revision AS now SET (actor, change_set) = (SELECT * FROM mirrord.told_author(told))
     WHERE tenant_id = told.tenant_id AND attachment_id = named.attachment_id AND version = named.version;
    UPDATE mirrord.attachment SET updated_by = (mirrord.told_author(told)).author
     WHERE tenant_id = told.tenant_id AND id = named.attachment_id AND version = named.version;
    RETURN true;
END
$$;

RESET ROLE;
