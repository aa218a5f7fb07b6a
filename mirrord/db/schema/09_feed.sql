-- The feed: the changed entries of a tenant, in the order of commits.
SET ROLE mirrord_owner;

-- Runs at commit: the transaction takes the row lock of the clock last, and holds it until its rows are visible. The
-- order of seq is therefore the order of commits, and `seq > cursor ORDER BY seq, entry_id` misses no change.
-- A clock that moved here from another server has an xid of that one: only a row that this transaction wrote has its own.
CREATE FUNCTION mirrord.ring(tenant uuid, entry uuid, entry_kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    current_seq bigint;
    known_kind text;
BEGIN
    SELECT seq INTO current_seq FROM mirrord.tenant_clock
     WHERE tenant_id = tenant AND xid = pg_current_xact_id() AND age(xmin) <= 0;
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
REVOKE EXECUTE ON FUNCTION mirrord.ring FROM PUBLIC;

-- The last statement of a transaction of the daemon: makes the checks of the commit, and returns the number of the
-- change (NULL: nothing changed) and how many entries it changed, plus one if an entry changed twice: a trigger of an
-- app may have answered the daemon's write. The clock's lock is held from here on.
CREATE FUNCTION mirrord.finish_changes(of_tenant uuid, OUT last_seq bigint, OUT changed_entries bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
    SELECT seq INTO last_seq FROM mirrord.tenant_clock
     WHERE tenant_id = of_tenant AND xid = pg_current_xact_id_if_assigned() AND age(xmin) <= 0;
    SELECT count(*) INTO changed_entries FROM mirrord.entry_feed
     WHERE tenant_id = of_tenant AND seq = last_seq;
    IF current_setting('mirrord.changed_again', true) = last_seq::text THEN
        changed_entries := changed_entries + 1;
    END IF;
END
$$;

-- finish_changes() of a transaction in which links and segments followed the feed up to followed_seq: if nobody changed
-- anything since, and only expected_entries entries got a document, they have followed this change, too. It locks
-- nothing after the clock, because the transaction has both cursors.
CREATE FUNCTION mirrord.finish_followed(of_tenant uuid, expected_entries bigint, followed_seq bigint,
                                        OUT last_seq bigint, OUT changed_entries bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.last_seq, f.changed_entries INTO last_seq, changed_entries FROM mirrord.finish_changes(of_tenant) AS f;
    IF last_seq = followed_seq + 1 AND changed_entries = expected_entries THEN
        UPDATE mirrord.link_cursor SET seq = last_seq, entry_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
         WHERE tenant_id = of_tenant;
        UPDATE mirrord.segment_cursor SET seq = last_seq, entry_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
         WHERE tenant_id = of_tenant;
    END IF;
END
$$;

-- Also makes the checks that need the lock of the clock, because every earlier move is visible only then, and notes
-- for events that a page without a directory becomes a folder with its first child (14_outbox.sql). The note of the
-- first child answers for the children that follow: else each would read all before it.
-- Rows are looked up one by one and by their whole keys: a join without statistics reads every row of the tenant.
CREATE FUNCTION mirrord.page_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_dead boolean;
    parent uuid;
    grandparent uuid;
    parent_is_dead boolean := false;
    parent_version bigint;
    parent_is_bare boolean := false;
    comes boolean := false;
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'page');
    SELECT deleted_at IS NOT NULL, parent_id INTO is_dead, parent
      FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    IF parent IS NOT NULL THEN
        SELECT deleted_at IS NOT NULL, kind = 'page' AND NOT index, version, parent_id
          INTO parent_is_dead, parent_is_bare, parent_version, grandparent
          FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = parent;
        comes := TG_OP = 'INSERT' OR NEW.parent_id IS DISTINCT FROM OLD.parent_id;
        IF comes AND grandparent IS NOT NULL THEN
            PERFORM mirrord.refuse_cycle(NEW.tenant_id, NEW.id, grandparent);
        END IF;
    END IF;
    IF comes AND parent_is_bare AND NOT is_dead AND NOT EXISTS (
        SELECT FROM mirrord.event_outbox
         WHERE tenant_id = NEW.tenant_id AND entry_id = parent AND version = parent_version) AND NOT EXISTS (
        SELECT FROM mirrord.page
         WHERE tenant_id = NEW.tenant_id AND parent_id BETWEEN parent AND parent AND id <> NEW.id
           AND created_at < now()) THEN
        INSERT INTO mirrord.event_outbox (tenant_id, entry_id, version, child, kind, mirror_id, was_folder, is_folder)
        VALUES (NEW.tenant_id, parent, parent_version, NEW.id, 'page', mirrord.writing_mirror(), false, true)
        ON CONFLICT DO NOTHING;
    END IF;
    IF is_dead AND mirrord.holds_life(NEW.tenant_id, NEW.id) THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, NEW.id);
    ELSIF NOT is_dead AND parent_is_dead THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, parent);
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.page DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.page_rings();

CREATE FUNCTION mirrord.attachment_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'attachment');
    IF NEW.deleted_at IS NULL THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, NEW.parent_id)
          FROM mirrord.page AS parent
         WHERE parent.tenant_id = NEW.tenant_id AND parent.id = NEW.parent_id AND parent.deleted_at IS NOT NULL;
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.attachment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.attachment_rings();

CREATE FUNCTION mirrord.record_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'record');
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.record DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.record_rings();

RESET ROLE;
