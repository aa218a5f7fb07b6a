-- Segments follow the text of their page, and their page to the trash and back.
SET ROLE mirrord_owner;

-- With which versions of a page and of its record the segments were last held against the text.
CREATE TABLE mirrord.segment_anchor (
    tenant_id      uuid NOT NULL,
    page_id        uuid NOT NULL,
    page_version   bigint NOT NULL,
    record_version bigint NOT NULL,
    PRIMARY KEY (tenant_id, page_id),
    FOREIGN KEY (tenant_id, page_id) REFERENCES mirrord.page (tenant_id, id) ON DELETE CASCADE
);

-- Up to which entry of the feed that is so. Whoever anchors segments holds this row.
CREATE TABLE mirrord.segment_cursor (
    tenant_id uuid PRIMARY KEY,
    seq       bigint NOT NULL,
    entry_id  uuid NOT NULL
);

DO $$
DECLARE
    tenant_table text;
    role_name text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['segment_anchor', 'segment_cursor'] LOOP
        EXECUTE format('ALTER TABLE mirrord.%I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE mirrord.%I FORCE ROW LEVEL SECURITY', tenant_table);
        FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon'] LOOP
            EXECUTE format('CREATE POLICY %I ON mirrord.%I TO %I USING (tenant_id = mirrord.current_tenant()) '
                           'WITH CHECK (tenant_id = mirrord.current_tenant())',
                           role_name, tenant_table, 'mirrord_' || role_name);
        END LOOP;
        EXECUTE format('CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant()', tenant_table);
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', tenant_table);
    END LOOP;
END
$$;

-- Whoever deletes a page: its segments go too. They come back with it, if they went with it: in the same minute, as
-- the files of both may be removed by one command and noticed one after the other.
CREATE FUNCTION mirrord.page_takes_segments() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF NEW.deleted_at IS NOT NULL THEN
        UPDATE mirrord.record SET deleted_at = NEW.deleted_at
         WHERE tenant_id = NEW.tenant_id AND key = NEW.id::text AND kind = 'segment' AND deleted_at IS NULL;
    ELSIF NOT EXISTS (SELECT FROM mirrord.record WHERE tenant_id = NEW.tenant_id AND key = NEW.id::text
                         AND kind = 'segment' AND deleted_at IS NULL) THEN
        UPDATE mirrord.record SET deleted_at = NULL
         WHERE tenant_id = NEW.tenant_id AND id = (
            SELECT id FROM mirrord.record WHERE tenant_id = NEW.tenant_id AND key = NEW.id::text AND kind = 'segment'
               AND deleted_at >= OLD.deleted_at - interval '1 minute' ORDER BY deleted_at DESC LIMIT 1);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER d_segments AFTER UPDATE ON mirrord.page
    FOR EACH ROW WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
    EXECUTE FUNCTION mirrord.page_takes_segments();

-- `detached`: the text is not on the page any more.
CREATE OR REPLACE VIEW mirrord.segment WITH (security_invoker = true) AS
SELECT record.tenant_id, record.key::uuid AS page_id, each.key AS id, each.value ->> 'kind' AS kind,
       each.value ->> 'label' AS label,
       CASE WHEN jsonb_typeof(each.value -> 'start') = 'number' THEN (each.value ->> 'start')::numeric END AS first,
       CASE WHEN jsonb_typeof(each.value -> 'end') = 'number' THEN (each.value ->> 'end')::numeric END AS behind,
       each.value AS data, each.value ->> 'created_by' AS created_by, each.value ->> 'quote' AS quote,
       coalesce(each.value -> 'detached' = 'true', false) AS detached
  FROM mirrord.record, jsonb_each(record.data) AS each
 WHERE record.kind = 'segment' AND record.deleted_at IS NULL;

GRANT SELECT ON mirrord.segment_anchor, mirrord.segment_cursor TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.segment_anchor, mirrord.segment_cursor TO mirrord_daemon;

RESET ROLE;
