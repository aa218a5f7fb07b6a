-- Apps see the dates that pages have in their front matter.
SET ROLE mirrord_owner;

-- A time that a key of front matter holds: an ISO date, with or without a time of day, in the session's time zone unless
-- it has one of its own. NULL: the value is none.
CREATE FUNCTION mirrord.read_time(value jsonb) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'string'
       OR value #>> '{}' !~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d+)?)?( ?(Z|[-+]\d\d(:?\d\d)?))?)?$' THEN
        RETURN NULL;
    END IF;
    RETURN (value #>> '{}')::timestamptz;
EXCEPTION WHEN data_exception THEN  -- the 30th of February
    RETURN NULL;
END
$$;

-- When a page was made and changed, as its keys `created` and `updated` have it; the times of its row where a key holds
-- no time, or one in the future for `updated`.
CREATE VIEW mirrord.page_dates WITH (security_invoker = true) AS
SELECT tenant_id, id, coalesce(mirrord.read_time(frontmatter -> 'created'), created_at) AS created,
       CASE WHEN mirrord.read_time(frontmatter -> 'updated') <= now()
            THEN mirrord.read_time(frontmatter -> 'updated') ELSE updated_at END AS updated
  FROM mirrord.page;

GRANT SELECT ON mirrord.page_dates TO mirrord_app, mirrord_daemon;

RESET ROLE;
