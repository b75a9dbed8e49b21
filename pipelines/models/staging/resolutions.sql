-- Which threads can be resolved, and are, on either forge: one row per thread of which that is told.
-- key: thread_id

WITH outdated AS (                                        -- pushed to since all of it was said
    SELECT
        n.parent_key || ':' || n.discussion_id AS thread_id,
        bool_and(n.position_head_sha <> mr.head_sha) AS is_outdated
    FROM gitlab.threads__discussions__notes AS n
    INNER JOIN gitlab.merge_requests AS mr ON mr.parent_key = n.parent_key
    WHERE n.position_head_sha IS NOT NULL
    GROUP BY n.parent_key, n.discussion_id
)

SELECT thread_id, is_resolvable, is_resolved, resolved_by, is_outdated, resolved_at, seen_resolved_at
FROM staging.github_resolutions
UNION ALL
SELECT
    told.thread_id,
    told.is_resolvable,
    told.is_resolved,
    CASE WHEN told.is_resolved THEN resolution.resolved_by END AS resolved_by,
    outdated.is_outdated,
    resolution.resolved_at,
    CAST(NULL AS TIMESTAMPTZ) AS seen_resolved_at
FROM staging.gitlab_discussions AS told
LEFT JOIN staging.gitlab_resolutions AS resolution ON resolution.thread_id = told.thread_id
LEFT JOIN outdated ON outdated.thread_id = told.thread_id
