-- Which change closes which issue when it is merged, as the services tell: one row per change and issue.
-- key: parent_key, issue_key
-- not null: source, issue_number
-- kept by, where shared: parent_key

WITH told AS (
    SELECT * FROM staging.github_closes
    UNION ALL SELECT * FROM staging.gitlab_closes
)

SELECT
    told.parent_key,                                      -- the pull or merge request
    told.issue_key,                                       -- of feedback.parents, where the issue's project is read, too
    change.source,
    change.kind AS parent_kind,
    change.scope_name,
    change.number AS parent_number,
    told.issue_scope_name,                                -- where the issue is; null of a project that is not read
    told.issue_number,                                    -- within its project
    told.issue_title                                      -- when the change was last read
FROM told
INNER JOIN feedback.parents AS change ON change.parent_key = told.parent_key
