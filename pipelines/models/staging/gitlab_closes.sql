-- Issues that merge requests on GitLab close when they are merged: one row per merge request and issue.
-- key: parent_key, issue_key

SELECT
    told.parent_key,
    told.issue_key,
    any_value(project.project) AS issue_scope_name,       -- null of a project that is not read
    any_value(told.issue_number) AS issue_number,
    any_value(told.title) AS issue_title
FROM gitlab.closes_issues__issues AS told
LEFT JOIN gitlab.projects AS project ON project.scope = told.issue_scope
WHERE told.issue_key IS NOT NULL                          -- an issue in another tracker has none
GROUP BY told.parent_key, told.issue_key
