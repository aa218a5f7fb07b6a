-- Whether a folder holds something that is not deleted is asked for every deleted row. With `parent_id = folder` the
-- planner assumes that any parent has a share of all rows, and reads rows in any order until it meets one; where there is
-- none it reads all, in time that grows with the square of the deletions. It takes a range for few rows, and reads the
-- index page_children.
SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.holds_life(tenant uuid, folder uuid) RETURNS boolean
    LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM mirrord.page
                WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL)
    OR EXISTS (SELECT FROM mirrord.attachment
                WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL);

RESET ROLE;
