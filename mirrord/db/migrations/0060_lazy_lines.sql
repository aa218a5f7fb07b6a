-- Lines that go on with a paragraph of a list were code, and a vertical tab beside a sign of emphasis was a blank: pages
-- that may have either are read again, under their versions and with the ids of their blocks.
SET ROLE mirrord_daemon;  -- which sees every tenant

DO $$
DECLARE
    tenant uuid;
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;  -- the feed is written while the tenant is set
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        UPDATE mirrord.page SET content = NULL
         WHERE tenant_id = tenant AND content IS NOT NULL AND ahead = '{}'
           AND (markdown ~ '[*_~]\v|\v[*_~]'
                OR content @? '$.** ? (@.type == "codeBlock").content[*].text
                               ? (@ like_regex "^\\s*([-+*]|\\d{1,9}[.)])\\s")');
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
