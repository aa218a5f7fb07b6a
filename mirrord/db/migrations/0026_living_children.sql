-- Whether something lives in a folder is asked for every row that is deleted. With parent_id = folder the planner takes
-- it that a share of all rows has any parent, and reads rows in any order until it finds one; where there is none it reads
-- all, so that thousands of deletions took seconds, and time squared. A range it takes for few rows: page_children.
SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.holds_life(tenant uuid, folder uuid) RETURNS boolean
    LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM mirrord.page
                WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL)
    OR EXISTS (SELECT FROM mirrord.attachment
                WHERE tenant_id = tenant AND parent_id BETWEEN folder AND folder AND deleted_at IS NULL);

RESET ROLE;
