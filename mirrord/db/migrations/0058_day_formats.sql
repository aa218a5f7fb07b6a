-- A graph of Logseq may call its days in other formats (docs/decisions/0094).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.tenant ADD COLUMN day_formats text[];

RESET ROLE;
