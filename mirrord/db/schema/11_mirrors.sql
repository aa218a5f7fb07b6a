-- Mirrors, their leases and bases, and what waits for a person.
SET ROLE mirrord_owner;

-- One row a mirror. kind 'tree' is a tree of files on one host; other kinds would have no path.
CREATE TABLE mirrord.mirror (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    kind       text NOT NULL DEFAULT 'tree',
    host       text,
    root       text,
    holder     text,                        -- the daemon that holds the lease, for people
    token      bigint NOT NULL DEFAULT 0,   -- fencing token, + 1 at every acquisition
    expires_at timestamptz NOT NULL DEFAULT now(),
    ack_seq    bigint NOT NULL DEFAULT 0,   -- every change up to here is on the mirror
    created_at timestamptz NOT NULL DEFAULT now(),
    acks       bigint NOT NULL DEFAULT 0,   -- acknowledged passes; the tree has the same counter, and never a lower one
    state      jsonb,                       -- work that waits, latencies and progress; NULL: no daemon reported any
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

-- One statement renews the leases of all tenants, so it must not wait for a transaction of one tenant, which may wait
-- for an app (docs/decisions/0012). hold_lease locks FOR KEY SHARE, which excludes only changes of a key, and this
-- index makes the token part of a key: an acquisition waits, a renewal does not.
CREATE UNIQUE INDEX mirror_token ON mirrord.mirror (tenant_id, id, token);

-- Every transaction of a mirror calls this: a daemon that lost its lease writes nothing (fencing token). The setting
-- mirrord.mirror says that the transaction's writes are from that mirror (writing_mirror).
CREATE FUNCTION mirrord.hold_lease(of_tenant uuid, held_mirror uuid, held_token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.mirror
      WHERE tenant_id = of_tenant AND id = held_mirror
        AND token = held_token AND expires_at > clock_timestamp()
        FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on mirror % is lost', held_mirror USING ERRCODE = 'MR001';
    END IF;
    PERFORM set_config('mirrord.mirror', held_mirror::text, true);
END
$$;

-- The settings of a mirror's writing transaction, after its tenant: the lease is held, entries are written one by one
-- (mirrord.cascade), and writer is the author (NULL: as set).
CREATE FUNCTION mirrord.begin_writing(of_tenant uuid, held_mirror uuid, held_token bigint, writer text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.hold_lease(of_tenant, held_mirror, held_token);
    PERFORM set_config('mirrord.cascade', 'off', true);
    IF writer IS NOT NULL THEN
        PERFORM set_config('mirrord.actor', writer, true);
    END IF;
END
$$;

-- Engine processes that share the tenants of a pool (docs/decisions/0064). A process renews its row; it works on the
-- tenants that it has claimed. Once its row has expired, other processes of the pool may claim them.
CREATE TABLE mirrord.engine_process (
    pool       text NOT NULL,
    name       text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (pool, name)
);

CREATE TABLE mirrord.tenant_claim (
    tenant_id uuid NOT NULL,
    pool      text NOT NULL,
    process   text NOT NULL,
    PRIMARY KEY (tenant_id, pool),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

-- The last state of each entry that both sides of a mirror agreed on. Without a foreign key to entries: a base may
-- outlive its row.
CREATE TABLE mirrord.mirror_base (
    tenant_id uuid NOT NULL,
    mirror_id uuid NOT NULL,
    entry_id  uuid NOT NULL,
    kind      text NOT NULL,
    path      text COLLATE "C",             -- NULL: the mirror has no tree
    parent_id uuid,
    name      text NOT NULL,
    index     boolean NOT NULL DEFAULT false,
    version   bigint NOT NULL,
    digest    bytea,                        -- NULL: a folder
    claimed   text,                         -- the text of id: in the file when its id was decided
    saved     bigint,                       -- the newest version that came from this file; NULL: none
    PRIMARY KEY (tenant_id, mirror_id, entry_id),
    CONSTRAINT mirror_base_path_is_free UNIQUE (path, tenant_id, mirror_id) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (tenant_id, mirror_id) REFERENCES mirrord.mirror (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX mirror_base_by_digest ON mirrord.mirror_base (digest, tenant_id, mirror_id);

-- The base of a written file, as a transaction by itself: one statement binds it to the tenant, holds the lease and
-- stores the base. saved NULL: the version saved in the file before stays.
CREATE FUNCTION mirrord.store_base(of_tenant uuid, held_mirror uuid, held_token bigint, base json) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g record;
    stored_version bigint;
BEGIN
    PERFORM set_config('mirrord.tenant', of_tenant::text, true);
    PERFORM mirrord.hold_lease(of_tenant, held_mirror, held_token);
    SELECT * INTO STRICT g FROM json_to_record(base) AS g (
        entry uuid, kind text, path text, base_parent uuid, base_name text, base_index boolean, version bigint,
        base_digest text, claimed text, saved bigint);
    INSERT INTO mirrord.mirror_base AS b
        (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
    VALUES (of_tenant, held_mirror, g.entry, g.kind, g.path, g.base_parent, g.base_name, g.base_index, g.version,
            decode(g.base_digest, 'hex'), g.claimed, g.saved)
    ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
        kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
        index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
        saved = coalesce(EXCLUDED.saved, b.saved)
    RETURNING b.version INTO stored_version;
    RETURN stored_version;
END
$$;

-- Entries that cannot be synced, with the reason.
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

-- Deletions that wait for the decision of a person.
CREATE TABLE mirrord.halt (
    tenant_id  uuid NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    mirror_id  uuid NOT NULL,
    reason     text NOT NULL,
    side       text,                        -- the side that lost the entries: file or row
    sentence   text NOT NULL,
    entries    uuid[] NOT NULL DEFAULT '{}',
    decision   text CHECK (decision IN ('apply', 'discard')),
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    decided_by jsonb,
    closed_at  timestamptz,
    PRIMARY KEY (tenant_id, id)
);

-- verdict: apply (the deletions were intended) or discard (the entries are restored). Returns whether there is such an
-- open halt. A person may call it with any program: plain SQL is a supported interface.
CREATE FUNCTION mirrord.decide_halt(halt bigint, verdict text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not decide about halts' USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE mirrord.halt SET decision = verdict, decided_at = statement_timestamp(), decided_by = who
     WHERE tenant_id = mirrord.current_tenant() AND id = decide_halt.halt AND closed_at IS NULL;
    RETURN FOUND;
END
$$;
REVOKE ALL ON FUNCTION mirrord.decide_halt FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.decide_halt TO mirrord_app, mirrord_daemon;

RESET ROLE;
