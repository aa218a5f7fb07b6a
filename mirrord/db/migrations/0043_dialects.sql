-- Documents are derived by the dialect of a tenant's pages (docs/decisions/0077).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.tenant ADD COLUMN dialect text NOT NULL DEFAULT 'plain';

RESET ROLE;
