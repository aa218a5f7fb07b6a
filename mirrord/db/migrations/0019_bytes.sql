-- An app may give an attachment other bytes, as it may a page another text: what links to it goes on meaning it. They
-- are in blob before; where they are not, or do not match their digest, the file stays and `problem` says so.
SET ROLE mirrord_owner;

GRANT UPDATE (digest, size, media_type) ON mirrord.attachment TO mirrord_app;

RESET ROLE;
