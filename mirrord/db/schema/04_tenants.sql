-- Tenants, their clocks, the registry of entries, and the epoch of the database.
--
-- Every key and every foreign key contains tenant_id: no row refers to another tenant's row. Primary keys begin with
-- tenant_id, other keys end with it: without statistics the planner expects one row a tenant, and for a lookup by
-- another key it would take any index that begins with the tenant and read all rows of the tenant.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.tenant (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name       text NOT NULL UNIQUE CONSTRAINT tenant_name_is_a_slug CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    dialect    text NOT NULL DEFAULT 'plain',  -- of the program that reads the pages, too (docs/decisions/0082)
    day_formats text[]  -- of titles and files of days in a graph of Logseq; NULL: those it begins with
);

-- The clock of the feed: a transaction takes one seq for each tenant at its commit.
CREATE TABLE mirrord.tenant_clock (
    tenant_id uuid PRIMARY KEY REFERENCES mirrord.tenant (id),
    seq       bigint NOT NULL DEFAULT 0,
    xid       xid8,   -- the transaction that took seq
    restoring xid8    -- the transaction that fills the tenant from a backup; NULL: none
);

-- The last seq at which each entry changed. Also the registry that makes the ids of entries of all kinds unique in a
-- tenant.
CREATE TABLE mirrord.entry_feed (
    tenant_id  uuid NOT NULL,
    entry_id   uuid NOT NULL,
    kind       text NOT NULL,
    seq        bigint NOT NULL,
    purged_seq bigint,  -- seq of the purge; a mirror that was away does not restore an entry whose seq is this
    PRIMARY KEY (tenant_id, entry_id)
);
CREATE INDEX entry_feed_by_seq ON mirrord.entry_feed (tenant_id, seq, entry_id);

-- One row. A mirror compares the epoch with the one in its tree: if they differ, one side is a restored copy. After a
-- restore of the whole database an operator may renew id.
CREATE TABLE mirrord.epoch (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id     uuid NOT NULL DEFAULT gen_random_uuid(),
    system bigint  -- identifier of the cluster whose transaction ids tenant_clock holds
);
INSERT INTO mirrord.epoch (system) SELECT system_identifier FROM pg_control_system();

-- Whether this transaction fills the tenant from a backup (17_backups.sql). Triggers call it only if the setting
-- mirrord.restoring is on, which every role may set.
CREATE FUNCTION mirrord.is_restoring() RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant CONSTANT uuid := mirrord.current_tenant();
BEGIN
    RETURN EXISTS (SELECT FROM mirrord.tenant_clock WHERE tenant_id = tenant AND restoring = pg_current_xact_id());
END
$$;

RESET ROLE;
