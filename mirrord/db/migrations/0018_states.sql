-- What a mirror's daemon says of itself, for whoever looks from elsewhere: how much waits, how soon changes are carried
-- over, how far long work is. NULL: no daemon is at work, or it has said nothing yet.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.mirror ADD COLUMN state jsonb;

RESET ROLE;
