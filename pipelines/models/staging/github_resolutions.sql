-- Which review threads on GitHub are resolved: one row per thread of which a comment is held.
-- key: thread_id

WITH said AS (                                            -- the first comment may be gone: any tells where it belongs
    SELECT id, parent_key, any_value(thread_id) AS thread_id
    FROM github.review_comments
    GROUP BY id, parent_key
)

SELECT
    told.parent_key || ':review:' || CAST(said.thread_id AS VARCHAR) AS thread_id,
    true AS is_resolvable,
    bool_and(told.is_resolved) AS is_resolved,
    CASE WHEN bool_and(told.is_resolved) THEN max(told.resolved_by) END AS resolved_by,
    bool_and(told.is_outdated) AS is_outdated,
    CAST(NULL AS TIMESTAMPTZ) AS resolved_at,             -- nobody tells
    CASE WHEN bool_and(told.is_resolved) THEN max(told.seen_resolved_at) END AS seen_resolved_at
FROM github.review_threads__threads AS told
INNER JOIN said ON said.id = told.first_comment_id AND said.parent_key = told.parent_key
GROUP BY told.parent_key, said.thread_id
