-- Links and segments need not follow a change that their own transaction made (docs/decisions/0062).
SET ROLE mirrord_owner;

-- finish_changes() of a transaction in which links and segments followed the feed up to followed_seq: if nobody changed
-- anything since, and only expected_entries entries got a document, they have followed this change, too. It locks
-- nothing after the clock, because the transaction has both cursors.
CREATE FUNCTION mirrord.finish_followed(expected_entries bigint, followed_seq bigint,
                                        OUT last_seq bigint, OUT changed_entries bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT f.last_seq, f.changed_entries INTO last_seq, changed_entries FROM mirrord.finish_changes() AS f;
    IF last_seq = followed_seq + 1 AND changed_entries = expected_entries THEN
        UPDATE mirrord.link_cursor SET seq = last_seq, entry_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
         WHERE tenant_id = mirrord.current_tenant();
        UPDATE mirrord.segment_cursor SET seq = last_seq, entry_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
         WHERE tenant_id = mirrord.current_tenant();
    END IF;
END
$$;

RESET ROLE;
