-- What the words hang on, as it stands now: one row per issue, pull request or merge request.
-- key: parent_key
-- not null: source, kind, scope, number, state, updated_at
-- kept by: parent_key

WITH parents AS (
    SELECT * FROM staging.github_parents
    UNION ALL SELECT * FROM staging.gitlab_parents
)

SELECT
    parent_key,
    source,
    kind,                                                 -- issue, pull_request, merge_request
    scope,
    scope_name,
    number,
    title,
    state,                                                -- open, merged, closed or locked (while a merge goes on)
    is_draft,
    author,
    assignees,
    reviewers,
    labels,
    milestone,
    source_branch,
    target_branch,
    head_sha,
    merge_status,
    merged_by,
    merged_at,
    closed_at,
    created_at,
    updated_at,
    url
FROM parents
