-- Every key and foreign key contains tenant_id; nothing spans tenants. Primary keys begin with it, other keys end in
-- it: before there are statistics, the planner expects one row a tenant and takes any index that begins with the
-- tenant for as good as the primary key, and then reads all of the tenant's rows to find one.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.tenant (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name       text NOT NULL UNIQUE CONSTRAINT tenant_name_is_a_slug CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The change feed's clock: seq is taken at commit, once per transaction and tenant (xid remembers which).
CREATE TABLE mirrord.tenant_clock (
    tenant_id uuid PRIMARY KEY REFERENCES mirrord.tenant (id),
    seq       bigint NOT NULL DEFAULT 0,
    xid       xid8
);

-- State, not a log: the last seq at which an entry changed. Also the registry that makes entry ids
-- unique per tenant over all kinds.
CREATE TABLE mirrord.entry_feed (
    tenant_id uuid NOT NULL,
    entry_id  uuid NOT NULL,
    kind      text NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (tenant_id, entry_id)
);
CREATE INDEX entry_feed_by_seq ON mirrord.entry_feed (tenant_id, seq, entry_id);

CREATE TABLE mirrord.page (
    tenant_id   uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    parent_id   uuid,
    parent_key  uuid GENERATED ALWAYS AS (coalesce(parent_id, '00000000-0000-0000-0000-000000000000')) STORED,
    kind        text NOT NULL DEFAULT 'page' CHECK (kind IN ('page', 'folder')),
    name        text,                       -- without .md; NULL: from the title
    name_key    text COLLATE "C",           -- NULL: not placed yet, or a tombstone
    index       boolean NOT NULL DEFAULT false,  -- the file is NAME/_index.md, not NAME.md
    title       text,
    icon        text,
    position    text COLLATE "C",
    frontmatter jsonb,
    markdown    text,                       -- the whole file; NULL: a folder, or not rendered yet
    content     jsonb,                      -- TipTap document; NULL: being derived
    ahead       text[] NOT NULL DEFAULT '{}',    -- views written since markdown was rendered
    digest      bytea,                      -- BLAKE2b-256 of markdown; NULL: being derived
    version     bigint NOT NULL DEFAULT 1,
    deleted_at  timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    updated_by  jsonb,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT page_parent_exists FOREIGN KEY (tenant_id, parent_id)
        REFERENCES mirrord.page (tenant_id, id) DEFERRABLE,
    CONSTRAINT page_name_is_free UNIQUE (name_key, parent_key, tenant_id) DEFERRABLE,
    CONSTRAINT page_is_not_its_own_parent CHECK (parent_id <> id)
);
CREATE INDEX page_by_name ON mirrord.page (name, tenant_id);
CREATE INDEX page_children ON mirrord.page (parent_id, tenant_id);
CREATE INDEX page_underived ON mirrord.page (tenant_id, updated_at)
    WHERE deleted_at IS NULL AND kind = 'page' AND (content IS NULL OR digest IS NULL);

-- One row a version. Append-only, but for one thing: an app's write of a view gets its rendered text later.
CREATE TABLE mirrord.page_revision (
    tenant_id   uuid NOT NULL,
    page_id     uuid NOT NULL,
    version     bigint NOT NULL,
    digest      bytea,
    markdown    text,
    frontmatter jsonb,
    views       jsonb,                      -- the views an app wrote, where markdown was not rendered yet
    parent_id   uuid,
    name        text,
    deleted     boolean NOT NULL DEFAULT false,
    actor       jsonb,
    op_id       uuid,
    parents     bigint[] NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, page_id, version),
    FOREIGN KEY (tenant_id, page_id) REFERENCES mirrord.page (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX page_revision_by_digest ON mirrord.page_revision (page_id, digest, tenant_id);
CREATE UNIQUE INDEX page_revision_by_operation ON mirrord.page_revision (tenant_id, op_id) WHERE op_id IS NOT NULL;

CREATE TABLE mirrord.page_link (
    tenant_id uuid NOT NULL DEFAULT mirrord.current_tenant(),
    source_id uuid NOT NULL,
    number    integer NOT NULL,             -- order in the page
    target_id uuid,                         -- NULL: unresolved
    target    text NOT NULL,
    kind      text NOT NULL,
    PRIMARY KEY (tenant_id, source_id, number),
    FOREIGN KEY (tenant_id, source_id) REFERENCES mirrord.page (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX page_link_by_target ON mirrord.page_link (target_id, tenant_id);

CREATE TABLE mirrord.attachment (
    tenant_id  uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    parent_id  uuid,                        -- the page or folder whose assets/ holds it; NULL: the root's
    parent_key uuid GENERATED ALWAYS AS (coalesce(parent_id, '00000000-0000-0000-0000-000000000000')) STORED,
    name       text NOT NULL,               -- below assets/, may contain /
    name_key   text COLLATE "C",
    digest     bytea NOT NULL,
    size       bigint NOT NULL,
    media_type text,
    version    bigint NOT NULL DEFAULT 1,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by jsonb,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT attachment_parent_exists FOREIGN KEY (tenant_id, parent_id)
        REFERENCES mirrord.page (tenant_id, id) DEFERRABLE,
    CONSTRAINT attachment_name_is_free UNIQUE (name_key, parent_key, tenant_id) DEFERRABLE
);
CREATE INDEX attachment_children ON mirrord.attachment (parent_id, tenant_id);

-- Bytes of attachments by their digest, in parts of at most 1 MiB, numbered from 0.
CREATE TABLE mirrord.blob (
    tenant_id uuid NOT NULL DEFAULT mirrord.current_tenant(),
    digest    bytea NOT NULL,
    part      integer NOT NULL,
    bytes     bytea NOT NULL CONSTRAINT blob_part_is_at_most_1_mib CHECK (octet_length(bytes) <= 1048576),
    PRIMARY KEY (tenant_id, digest, part)
);
ALTER TABLE mirrord.blob ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE mirrord.record (
    tenant_id  uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    kind       text NOT NULL,
    key        text NOT NULL,
    text       text,
    data       jsonb,
    ahead      text[] NOT NULL DEFAULT '{}',
    digest     bytea,
    version    bigint NOT NULL DEFAULT 1,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by jsonb,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX record_key_is_free ON mirrord.record (tenant_id, kind, key) WHERE deleted_at IS NULL;

CREATE TABLE mirrord.event (
    tenant_id   uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    type        text NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    actor       jsonb NOT NULL DEFAULT mirrord.current_actor(),
    channel     text NOT NULL DEFAULT 'app',
    data        jsonb NOT NULL DEFAULT '{}',
    read_at     timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX event_by_time ON mirrord.event (tenant_id, occurred_at);

CREATE TABLE mirrord.approval (
    tenant_id        uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id               uuid NOT NULL,
    mirror_id        uuid,
    command          text NOT NULL,
    arguments        jsonb NOT NULL,
    arguments_digest bytea NOT NULL,
    base_digest      bytea,
    actor            jsonb NOT NULL,
    preview          jsonb,
    state            text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'rejected', 'executed', 'failed', 'expired')),
    decision         jsonb,
    requested_at     timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz,
    decided_at       timestamptz,
    PRIMARY KEY (tenant_id, id)
);

-- One row a mirror. kind 'tree' is a tree of files on one host; nothing here needs a path for every kind.
CREATE TABLE mirrord.mirror (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    kind       text NOT NULL DEFAULT 'tree',
    host       text,
    root       text,
    holder     text,                        -- who holds the lease, for people
    token      bigint NOT NULL DEFAULT 0,   -- fencing token, + 1 at every acquisition
    expires_at timestamptz NOT NULL DEFAULT now(),
    ack_seq    bigint NOT NULL DEFAULT 0,   -- every change up to here is on the mirror
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

-- What both sides of one mirror last agreed on. No foreign key to entries: a base may outlive its row.
CREATE TABLE mirrord.mirror_base (
    tenant_id uuid NOT NULL,
    mirror_id uuid NOT NULL,
    entry_id  uuid NOT NULL,
    kind      text NOT NULL,
    path      text COLLATE "C",             -- NULL on mirrors that have no tree
    parent_id uuid,
    name      text NOT NULL,
    index     boolean NOT NULL DEFAULT false,
    version   bigint NOT NULL,
    digest    bytea,                        -- NULL: a folder
    claimed   text,                         -- the id: text the file showed when its identity was decided
    PRIMARY KEY (tenant_id, mirror_id, entry_id),
    CONSTRAINT mirror_base_path_is_free UNIQUE (path, tenant_id, mirror_id) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant_id, mirror_id) REFERENCES mirrord.mirror (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX mirror_base_by_digest ON mirrord.mirror_base (digest, tenant_id, mirror_id);

-- What needs a person.
CREATE TABLE mirrord.conflict (
    tenant_id   uuid NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    mirror_id   uuid NOT NULL,
    entry_id    uuid NOT NULL,
    sibling_id  uuid,                       -- the page that holds the file's text
    path        text NOT NULL,
    base_text   text,
    file_text   text,
    row_text    text,
    row_version bigint,
    created_at  timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    resolution  text,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX conflict_open ON mirrord.conflict (tenant_id, entry_id) WHERE resolved_at IS NULL;

CREATE TABLE mirrord.halt (
    tenant_id  uuid NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    mirror_id  uuid NOT NULL,
    reason     text NOT NULL,
    side       text,                        -- where the deletions were seen: file or row
    sentence   text NOT NULL,
    entries    uuid[] NOT NULL DEFAULT '{}',
    decision   text CHECK (decision IN ('apply', 'discard')),
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    decided_by jsonb,
    closed_at  timestamptz,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE mirrord.problem (
    tenant_id  uuid NOT NULL,
    mirror_id  uuid NOT NULL,
    path       text NOT NULL,
    code       text NOT NULL,
    entry_id   uuid,
    sentence   text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, mirror_id, path, code)
);

RESET ROLE;
