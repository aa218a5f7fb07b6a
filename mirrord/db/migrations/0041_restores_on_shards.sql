-- A tenant is restored on its own server, which may be a node of a cluster (docs/decisions/0070).
SET ROLE mirrord_definer;
DROP FUNCTION mirrord.begin_restore();
DROP FUNCTION mirrord.restore_rows(text, text[], json);
DROP FUNCTION mirrord.end_restore(bigint);
RESET ROLE;
SET ROLE mirrord_owner;
GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

CREATE FUNCTION mirrord.begin_restore(of_tenant uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept text;
    is_filled boolean;
BEGIN
    SET CONSTRAINTS ALL DEFERRED;
    UPDATE mirrord.tenant_clock SET restoring = pg_current_xact_id()
     WHERE tenant_id = of_tenant RETURNING seq > 0 INTO STRICT is_filled;
    FOREACH kept IN ARRAY mirrord.kept_tables() LOOP
        EXIT WHEN is_filled;
        EXECUTE format('SELECT EXISTS (SELECT FROM mirrord.%I WHERE tenant_id = $1)', kept)
           INTO is_filled USING of_tenant;
    END LOOP;
    IF is_filled THEN
        RAISE EXCEPTION 'the tenant has pages or events already' USING ERRCODE = 'MR002';
    END IF;
    PERFORM set_config('mirrord.restoring', 'on', true);
END
$$;

CREATE FUNCTION mirrord.restore_rows(of_tenant uuid, kept text, columns text[], rows json) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text;
    given text;
    typed text;
    target text := kept;
    stored bigint;
BEGIN
    IF NOT mirrord.is_restoring() OR kept <> ALL (mirrord.kept_tables()) THEN
        RAISE EXCEPTION 'rows are stored as they are only while a tenant is restored'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT string_agg(quote_ident(attname), ', '), string_agg(quote_ident(attname) || ' text', ', '),
           string_agg(format('%I::%s', attname, format_type(atttypid, atttypmod)), ', ')
      INTO names, given, typed
      FROM pg_attribute
     WHERE attrelid = format('mirrord.%I', kept)::regclass AND attnum > 0 AND attname = ANY (columns);
    IF coalesce(current_setting('mirrord.cluster', true), '') = 'on' THEN
        -- The tenant's shard by its name, because a cluster inserts many rows here in no other way. begin_restore has
        -- locked its group: it moves nowhere until this transaction ends.
        EXECUTE 'SELECT $1 || ''_'' || get_shard_id_for_distribution_column((''mirrord.'' || $1)::regclass, $2)'
           INTO target USING kept, of_tenant;
    END IF;
    EXECUTE format('INSERT INTO mirrord.%I (tenant_id, %s) OVERRIDING SYSTEM VALUE '
                   'SELECT $2, %s FROM json_to_recordset($1) AS given (%s)',
                   target, names, typed, given) USING rows, of_tenant;
    GET DIAGNOSTICS stored = ROW_COUNT;
    RETURN stored;
END
$$;

CREATE FUNCTION mirrord.end_restore(of_tenant uuid, seq bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint := (SELECT max(id) FROM mirrord.conflict WHERE tenant_id = of_tenant);
BEGIN
    UPDATE mirrord.tenant_clock SET seq = end_restore.seq, restoring = NULL WHERE tenant_id = of_tenant;
    PERFORM set_config('mirrord.restoring', '', true);
    IF coalesce(nullif(current_setting('mirrord.notify', true), ''), 'on') = 'on' THEN
        PERFORM pg_notify(mirrord.channel(of_tenant), of_tenant::text);
    END IF;
    RETURN newest;
END
$$;

CREATE FUNCTION mirrord.skip_conflict_numbers(newest bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    numbers regclass := pg_get_serial_sequence('mirrord.conflict', 'id');
BEGIN
    WHILE newest > nextval(numbers) LOOP
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION mirrord.begin_restore, mirrord.restore_rows, mirrord.end_restore, mirrord.skip_conflict_numbers
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.begin_restore, mirrord.restore_rows, mirrord.end_restore,
    mirrord.skip_conflict_numbers TO mirrord_daemon;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;
