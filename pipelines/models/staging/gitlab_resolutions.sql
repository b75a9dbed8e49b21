-- When GitLab's discussions were resolved: one row per resolved discussion.
-- key: thread_id
-- not null: resolved_at

SELECT
    parent_key || ':' || discussion_id AS thread_id,
    arg_max(resolved_by, resolved_at) AS resolved_by,
    max(resolved_at) AS resolved_at                       -- of its last note: only then was all of it resolved
FROM gitlab.threads__discussions__notes
GROUP BY parent_key, discussion_id
HAVING bool_and(is_resolved) FILTER (WHERE is_resolvable) AND max(resolved_at) IS NOT NULL
