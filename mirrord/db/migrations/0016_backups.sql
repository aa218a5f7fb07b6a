-- A tenant comes back from a backup as it was: with its versions, authors, times and history. Triggers would stamp and
-- count everything anew, so they leave alone what one transaction stores in a tenant that has nothing yet.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.tenant_clock ADD COLUMN restoring xid8;  -- the transaction that fills the tenant; NULL: none does

-- What a backup holds of a tenant, in the order in which it can be stored. All other tables with a tenant follow from
-- these, or are a mirror's, and mirrors belong to hosts.
CREATE FUNCTION mirrord.kept_tables() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT ARRAY['entry_feed', 'page', 'page_revision', 'page_link', 'segment_anchor', 'blob', 'attachment',
    'attachment_revision', 'record', 'record_revision', 'event', 'approval', 'conflict']
$$;

-- Whether this transaction fills the tenant. Looked at only where the setting asks for it, which anybody may set.
CREATE FUNCTION mirrord.is_restoring() RETURNS boolean
    LANGUAGE sql STABLE AS $$
SELECT EXISTS (SELECT FROM mirrord.tenant_clock
                WHERE tenant_id = mirrord.current_tenant() AND restoring = pg_current_xact_id())
$$;

-- Nothing else is written in the tenant until the transaction ends. Raises unless the tenant has nothing at all.
CREATE FUNCTION mirrord.begin_restore() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    kept text;
    is_filled boolean;
BEGIN
    UPDATE mirrord.tenant_clock SET restoring = pg_current_xact_id()
     WHERE tenant_id = mirrord.current_tenant() RETURNING seq > 0 INTO STRICT is_filled;
    FOREACH kept IN ARRAY mirrord.kept_tables() LOOP
        EXIT WHEN is_filled;
        EXECUTE format('SELECT EXISTS (SELECT FROM mirrord.%I WHERE tenant_id = $1)', kept)
           INTO is_filled USING mirrord.current_tenant();
    END LOOP;
    IF is_filled THEN
        RAISE EXCEPTION 'the tenant has pages or events already' USING ERRCODE = 'MR002';
    END IF;
    PERFORM set_config('mirrord.restoring', 'on', true);
END
$$;

-- rows: an array of objects, every value as Postgres writes it as text. How many were stored.
CREATE FUNCTION mirrord.restore_rows(kept text, columns text[], rows json) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    names text;
    given text;
    typed text;
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
    EXECUTE format('INSERT INTO mirrord.%I (tenant_id, %s) OVERRIDING SYSTEM VALUE '
                   'SELECT mirrord.current_tenant(), %s FROM json_to_recordset($1) AS given (%s)',
                   kept, names, typed, given) USING rows;
    GET DIAGNOSTICS stored = ROW_COUNT;
    RETURN stored;
END
$$;

-- From now on triggers see to everything again. seq: what the clock showed when the backup was made.
CREATE FUNCTION mirrord.end_restore(seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    tenant uuid := mirrord.current_tenant();
    numbers regclass := pg_get_serial_sequence('mirrord.conflict', 'id');
    newest bigint;
BEGIN
    SELECT max(id) INTO newest FROM mirrord.conflict WHERE tenant_id = tenant;
    -- one by one: another tenant may take a number at the same moment, and none may be given out twice
    WHILE newest > nextval(numbers) LOOP
    END LOOP;
    UPDATE mirrord.tenant_clock SET seq = end_restore.seq, restoring = NULL WHERE tenant_id = tenant;
    PERFORM set_config('mirrord.restoring', '', true);
    IF coalesce(nullif(current_setting('mirrord.notify', true), ''), 'on') = 'on' THEN
        PERFORM pg_notify(mirrord.channel(tenant), tenant::text);
    END IF;
END
$$;

REVOKE ALL ON FUNCTION mirrord.begin_restore, mirrord.restore_rows, mirrord.end_restore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.begin_restore, mirrord.restore_rows, mirrord.end_restore TO mirrord_daemon;

-- The triggers that would make an INSERT something else than what is given.
DO $$
DECLARE
    not_restoring constant text :=
        'current_setting(''mirrord.restoring'', true) IS DISTINCT FROM ''on'' OR NOT mirrord.is_restoring()';
    kept text;
BEGIN
    FOREACH kept IN ARRAY ARRAY['page', 'attachment', 'record'] LOOP
        EXECUTE format('DROP TRIGGER b_version ON mirrord.%I', kept);
        EXECUTE format('CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW WHEN (%s) EXECUTE FUNCTION mirrord.%I()', kept, not_restoring, kept || '_before');
        EXECUTE format('DROP TRIGGER c_history ON mirrord.%I', kept);
        EXECUTE format('CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW WHEN (%s) EXECUTE FUNCTION mirrord.%I()', kept, not_restoring, kept || '_history');
        EXECUTE format('DROP TRIGGER e_feed ON mirrord.%I', kept);
        EXECUTE format('CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.%I '
                       'DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (%s) EXECUTE FUNCTION mirrord.%I()',
                       kept, not_restoring, kept || '_rings');
    END LOOP;
    DROP TRIGGER c_operation_of_insert ON mirrord.page;
    EXECUTE format('CREATE TRIGGER c_operation_of_insert AFTER INSERT ON mirrord.page FOR EACH ROW '
                   'WHEN (NEW.op_id IS NOT NULL AND (%s)) EXECUTE FUNCTION mirrord.record_operation()', not_restoring);
    DROP TRIGGER b_approval ON mirrord.approval;
    EXECUTE format('CREATE TRIGGER b_approval BEFORE INSERT OR UPDATE ON mirrord.approval FOR EACH ROW '
                   'WHEN (%s) EXECUTE FUNCTION mirrord.approval_before()', not_restoring);
    DROP TRIGGER c_told ON mirrord.approval;
    EXECUTE format('CREATE TRIGGER c_told AFTER INSERT OR UPDATE ON mirrord.approval FOR EACH ROW '
                   'WHEN (%s) EXECUTE FUNCTION mirrord.approval_told()', not_restoring);
END
$$;

RESET ROLE;
