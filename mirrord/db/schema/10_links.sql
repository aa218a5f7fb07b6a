-- Links: their text is derived from pages, their meaning follows from the names of all entries.
--
-- Entries are looked up by key in both tables, so not even primary keys begin with the tenant: for small tables the
-- planner prefers to read all rows of the tenant, and Postgres would keep that plan.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.page_link (
    tenant_id  uuid NOT NULL DEFAULT mirrord.current_tenant(),
    source_id  uuid NOT NULL,
    number     integer NOT NULL,                -- order in the page
    target_id  uuid,                            -- NULL: unresolved
    target     text NOT NULL,
    kind       text NOT NULL,
    heading    text,                            -- the text after #; ^id for a block
    alias      text,                            -- the text that is shown, if the link has one of its own
    ambiguous  boolean NOT NULL DEFAULT false,  -- several entries fit equally well: target_id is NULL
    target_key text COLLATE "C",                -- key of the target's last part, which names share
    due        boolean NOT NULL DEFAULT true,   -- the meaning has to be looked up
    pending    jsonb,                           -- {target, mover}: the target that the text is to get; NULL: its own
    PRIMARY KEY (source_id, number, tenant_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES mirrord.page (tenant_id, id)
);
CREATE INDEX page_link_by_target ON mirrord.page_link (target_id, tenant_id);
CREATE INDEX page_link_by_key ON mirrord.page_link (target_key, tenant_id);
CREATE INDEX page_link_due ON mirrord.page_link (tenant_id, source_id, number) WHERE due;
CREATE INDEX page_link_pending ON mirrord.page_link (tenant_id, source_id, number) WHERE pending IS NOT NULL;

-- The names by which links find an entry, as of link_cursor; number 0 is the name of its file. Tombstones have none.
CREATE TABLE mirrord.link_name (
    tenant_id uuid NOT NULL,
    entry_id  uuid NOT NULL,
    number    integer NOT NULL,
    kind      text NOT NULL,                -- of the entry
    parent_id uuid,
    index     boolean NOT NULL,
    called    text NOT NULL CHECK (called IN ('name', 'title', 'alias')),
    name      text NOT NULL,
    key       text COLLATE "C" NOT NULL,    -- of its last part
    PRIMARY KEY (entry_id, number, tenant_id)
);
CREATE INDEX link_name_by_key ON mirrord.link_name (key, tenant_id);

-- The place in the feed up to which link_name is current. The process that resolves links locks this row.
CREATE TABLE mirrord.link_cursor (
    tenant_id uuid PRIMARY KEY,
    seq       bigint NOT NULL,
    entry_id  uuid NOT NULL
);

RESET ROLE;
