-- One statement renews the leases of all tenants, so it must not wait for a transaction of one tenant, which may wait
-- for an app (docs/decisions/0012). hold_lease locks FOR KEY SHARE, which excludes only changes of a key, and the new
-- index makes the token part of a key: an acquisition waits, a renewal does not.
SET ROLE mirrord_owner;

CREATE UNIQUE INDEX mirror_token ON mirrord.mirror (tenant_id, id, token);

CREATE OR REPLACE FUNCTION mirrord.hold_lease(held_mirror uuid, held_token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM mirrord.mirror
      WHERE tenant_id = mirrord.current_tenant() AND id = held_mirror
        AND token = held_token AND expires_at > clock_timestamp()
        FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on mirror % is lost', held_mirror USING ERRCODE = 'MR001';
    END IF;
    PERFORM set_config('mirrord.mirror', held_mirror::text, true);
END
$$;

RESET ROLE;
