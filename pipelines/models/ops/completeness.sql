-- The source's own counts against ours: one row per issue, pull request or merge request whose comments are counted.
-- key: parent_key
-- kept by, where shared: parent_key

WITH counts AS (
    SELECT * FROM staging.github_counts
    UNION ALL SELECT * FROM staging.gitlab_counts
)

SELECT
    parent_key,
    source,
    scope,
    scope_name,
    parent_number,
    remote_count,
    held_count,
    remote_count = held_count AS is_complete,
    checked_at,                                           -- last read whole
    is_all_that_is_listed                                 -- services count what they hide from our token
FROM counts
