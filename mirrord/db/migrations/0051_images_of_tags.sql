-- Images of HTML tags and sizes in descriptions were raw or text in the documents of earlier versions, and the links of
-- HTML were in no list: these documents are derived again, under their versions and with the ids of their blocks.
-- With the document of a page whose front matter is TOML or JSON, or ends with `...`, come its title and properties.
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
           AND (markdown ~* '<(?:img|a)\s' OR markdown ~ '!\[[^][]*\|[0-9]+(?:x[0-9]+)?\]\('
                OR ltrim(left(markdown, 200), chr(65279)) ~ '^(?:\+\+\+|\{)[ \t]*[\r\n]'
                OR ltrim(left(markdown, 200), chr(65279)) ~ '^---[ \t]*[\r\n]'
                   AND markdown ~ '[\r\n]\.\.\.[ \t]*(?:[\r\n]|$)');
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
