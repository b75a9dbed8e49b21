-- Where GitLab's diff notes were said: one row per note.
-- key: event_key

SELECT
    v.event_key,
    coalesce(n.position_new_path, n.position_old_path) AS path,
    n.position_old_path AS old_path,
    n.position_new_line AS new_line,
    n.position_old_line AS old_line,
    coalesce(n.position_line_range_end, n.position_new_line, n.position_old_line) AS line,
    coalesce(n.position_line_range_start, n.position_new_line, n.position_old_line) AS start_line,
    CAST(NULL AS BIGINT) AS current_line,
    CAST(NULL AS BIGINT) AS current_start_line,
    CASE WHEN n.position_new_line IS NULL AND n.position_old_line IS NOT NULL THEN 'LEFT' ELSE 'RIGHT' END AS side,
    n.position_type,
    n.position_base_sha AS base_sha,
    n.position_start_sha AS start_sha,
    n.position_head_sha AS head_sha,
    mr.head_sha AS current_sha,
    coalesce(n.position_head_sha <> mr.head_sha, false) AS is_outdated,   -- pushed to since it was said
    CAST(NULL AS VARCHAR) AS diff_hunk
FROM gitlab.threads__discussions__notes AS n
INNER JOIN gitlab.note_versions AS v ON v.id = n.id AND v.version = n.version AND v.parent_key = n.parent_key
LEFT JOIN gitlab.merge_requests AS mr ON mr.parent_key = n.parent_key
WHERE n.position_new_path IS NOT NULL OR n.position_old_path IS NOT NULL
