-- A writing transaction begins and ends with one call each, and a notification has the number of the change
-- (docs/decisions/0062).
SET ROLE mirrord_owner;
GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

-- Runs at commit: the transaction takes the row lock of the clock last, and holds it until its rows are visible. The
-- order of seq is therefore the order of commits, and `seq > cursor ORDER BY seq, entry_id` misses no change.
CREATE OR REPLACE FUNCTION mirrord.ring(tenant uuid, entry uuid, entry_kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    current_seq bigint;
    known_kind text;
BEGIN
    SELECT seq INTO current_seq FROM mirrord.tenant_clock WHERE tenant_id = tenant AND xid = pg_current_xact_id();
    IF NOT FOUND THEN
        UPDATE mirrord.tenant_clock SET seq = seq + 1, xid = pg_current_xact_id()
         WHERE tenant_id = tenant RETURNING seq INTO STRICT current_seq;
        -- The payload means nothing to apps, and a notification may be lost: readers read the feed, and poll it, too.
        IF coalesce(nullif(current_setting('mirrord.notify', true), ''), 'on') = 'on' THEN
            PERFORM pg_notify(mirrord.channel(tenant), current_seq::text);
        END IF;
    END IF;
    INSERT INTO mirrord.entry_feed AS feed (tenant_id, entry_id, kind, seq)
    VALUES (tenant, entry, entry_kind, current_seq)
    ON CONFLICT (tenant_id, entry_id) DO UPDATE SET seq = EXCLUDED.seq WHERE feed.seq <> EXCLUDED.seq
    RETURNING feed.kind INTO known_kind;
    IF NOT FOUND THEN
        PERFORM set_config('mirrord.changed_again', current_seq::text, true);
        SELECT kind INTO STRICT known_kind FROM mirrord.entry_feed WHERE tenant_id = tenant AND entry_id = entry;
    END IF;
    IF known_kind <> entry_kind THEN
        RAISE EXCEPTION 'the id % is already that of a %', entry, known_kind USING ERRCODE = 'unique_violation';
    END IF;
END
$$;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

-- The last statement of a transaction of the daemon: makes the checks of the commit, and returns the number of the
-- change (NULL: nothing changed) and how many entries it changed, plus one if an entry changed twice: a trigger of an
-- app may have answered the daemon's write. The clock's lock is held from here on.
CREATE FUNCTION mirrord.finish_changes(OUT last_seq bigint, OUT changed_entries bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
    SELECT seq INTO last_seq FROM mirrord.tenant_clock
     WHERE tenant_id = mirrord.current_tenant() AND xid = pg_current_xact_id_if_assigned();
    SELECT count(*) INTO changed_entries FROM mirrord.entry_feed
     WHERE tenant_id = mirrord.current_tenant() AND seq = last_seq;
    IF current_setting('mirrord.changed_again', true) = last_seq::text THEN
        changed_entries := changed_entries + 1;
    END IF;
END
$$;

-- The settings of a mirror's writing transaction, after its tenant: the lease is held, entries are written one by one
-- (mirrord.cascade), and writer is the author (NULL: as set).
CREATE FUNCTION mirrord.begin_writing(held_mirror uuid, held_token bigint, writer text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.hold_lease(held_mirror, held_token);
    PERFORM set_config('mirrord.cascade', 'off', true);
    IF writer IS NOT NULL THEN
        PERFORM set_config('mirrord.actor', writer, true);
    END IF;
END
$$;

RESET ROLE;
