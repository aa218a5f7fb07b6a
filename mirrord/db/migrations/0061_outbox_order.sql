-- Notes of changes are read in the order in which they were made, by an index: a batch read every page of the tenant.
ALTER TABLE mirrord.event_outbox ADD COLUMN noted_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX event_outbox_in_order ON mirrord.event_outbox (tenant_id, kind, noted_at, entry_id, version, child);

SET ROLE mirrord_daemon;  -- which sees every tenant

DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        UPDATE mirrord.event_outbox AS o SET noted_at = r.created_at FROM mirrord.page_revision AS r
         WHERE o.tenant_id = tenant AND o.kind = 'page' AND r.tenant_id = tenant
           AND r.page_id = o.entry_id AND r.version = o.version;
        UPDATE mirrord.event_outbox AS o SET noted_at = r.created_at FROM mirrord.record_revision AS r
         WHERE o.tenant_id = tenant AND o.kind = 'record' AND r.tenant_id = tenant
           AND r.record_id = o.entry_id AND r.version = o.version;
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
