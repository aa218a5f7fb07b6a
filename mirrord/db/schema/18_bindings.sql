-- Bindings of the tables of apps (docs/decisions/0077). The queue of changed rows, the triggers and their functions are
-- in the schema mirrord_bind, which the first binding creates and the last one removes.
SET ROLE mirrord_owner;

-- One row a binding. The daemon sees those of all tenants.
CREATE TABLE mirrord.binding (
    tenant_id         uuid NOT NULL,
    id                uuid NOT NULL,
    name              text NOT NULL,
    mapping           text NOT NULL,            -- the TOML file
    fingerprint       jsonb NOT NULL,           -- the types of the app's columns, by table and column
    state             text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'halted')),
    sentence          text,                     -- why it is halted, or does less than it should; NULL: nothing is wrong
    feed_seq          bigint NOT NULL DEFAULT 0,  -- changes of pages were looked at up to here
    deletions_allowed boolean NOT NULL DEFAULT false,  -- a person decided that all deletions in the app are meant
    compare_every     interval NOT NULL,        -- between two comparisons of all rows
    compared_at       timestamptz,              -- NULL: all rows are to be compared
    created_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT binding_name_is_free UNIQUE (name, tenant_id),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

-- The last state of each row of an app that the row and its page agreed on, as mirror_base is for files.
CREATE TABLE mirrord.binding_entry (
    tenant_id        uuid NOT NULL,
    binding_id       uuid NOT NULL,
    external_id      text COLLATE "C" NOT NULL,  -- the key of the row in the app
    entry_id         uuid NOT NULL,
    version          bigint NOT NULL,            -- of the page
    digest           bytea NOT NULL,             -- of all that the app says about the page
    external_version text NOT NULL,              -- of the row: the transactions that wrote it; '': it was not read since
    PRIMARY KEY (tenant_id, binding_id, external_id),
    CONSTRAINT binding_entry_is_bound_once UNIQUE (entry_id, binding_id, tenant_id),
    FOREIGN KEY (tenant_id, binding_id) REFERENCES mirrord.binding (tenant_id, id) ON DELETE CASCADE
);

-- What rows and pages agreed on in a binding that was dropped: added again under its name, it knows them by this.
CREATE TABLE mirrord.former_binding_entry (
    tenant_id   uuid NOT NULL,
    binding_id  uuid NOT NULL,                   -- the same when the binding is added again
    external_id text COLLATE "C" NOT NULL,
    entry_id    uuid NOT NULL,
    version     bigint NOT NULL,                 -- of the page
    page_table  text NOT NULL,                   -- of the app, with its column of ids: TABLE(COLUMN); TABLE in older rows
    PRIMARY KEY (tenant_id, binding_id, external_id),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

RESET ROLE;
