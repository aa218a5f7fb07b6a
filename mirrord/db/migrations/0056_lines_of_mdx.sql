-- Expressions and elements of MDX over more than 12 lines, or over blank ones, were paragraphs in the documents of
-- earlier versions: these are derived again, under their versions and with the ids of their blocks.
SET ROLE mirrord_daemon;  -- which sees every tenant

DO $$
DECLARE
    tenant uuid;
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;  -- the feed is written while the tenant is set
    FOR tenant IN SELECT id FROM mirrord.tenant WHERE dialect IN ('docusaurus', 'astro') LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        UPDATE mirrord.page SET content = NULL
         WHERE tenant_id = tenant AND content IS NOT NULL AND ahead = '{}'
           AND markdown ~ '(?:^|[\r\n])[ \t]*(?:\{|<[A-Z])';
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
