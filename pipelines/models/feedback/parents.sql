-- What the words hang on, as it stands now: one row per issue, pull request or merge request.
-- key: parent_key
-- not null: source, kind, scope, number, state, updated_at
-- kept by: parent_key

WITH parents AS (
    SELECT * FROM staging.github_parents
    UNION ALL SELECT *, CAST([] AS VARCHAR[]) AS requested_teams FROM staging.gitlab_parents
)

SELECT
    parent_key,
    source,
    kind,                                                 -- issue, pull_request, merge_request
    scope,
    scope_name,
    number,
    title,                                                -- as it is now
    state,                                                -- open, merged, closed or locked (while a merge goes on)
    is_draft,                                             -- marked as not ready
    author,                                               -- who opened it
    assignees,                                            -- logins
    reviewers,                                            -- logins of those who were asked or have reviewed
    requested_teams,                                      -- teams asked for a review, as their addresses name them
    labels,                                               -- names
    milestone,                                            -- its name
    source_branch,                                        -- what is to be merged; null of issues
    target_branch,                                        -- into what; null of issues
    head_sha,                                             -- the newest commit; null of issues
    merge_status,                                         -- why it can be merged or not, in GitLab's words
    merged_by,                                            -- who merged it, where the service tells
    merged_at,                                            -- when it was merged
    closed_at,                                            -- when it was closed; null: it is not
    created_at,
    updated_at,
    url
FROM parents
