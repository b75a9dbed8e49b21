-- Where GitLab's diff notes were said: one row per note.
-- key: event_key

WITH diffs AS (
    SELECT d.parent_key, d.head_sha, f.new_path, any_value(f.diff) AS diff
    FROM gitlab.diffs AS d
    INNER JOIN gitlab.diffs__files AS f ON f.parent_key = d.parent_key
    GROUP BY d.parent_key, d.head_sha, f.new_path
)

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
    diffs.diff AS diff_hunk,                              -- the file's, while it is the one that was commented on
    n.position_x AS image_x,
    n.position_y AS image_y,
    n.position_width AS image_width,
    n.position_height AS image_height
FROM gitlab.threads__discussions__notes AS n
INNER JOIN gitlab.note_versions AS v ON v.id = n.id AND v.version = n.version AND v.parent_key = n.parent_key
LEFT JOIN gitlab.merge_requests AS mr ON mr.parent_key = n.parent_key
LEFT JOIN diffs
    ON diffs.parent_key = n.parent_key AND diffs.head_sha = n.position_head_sha AND diffs.new_path = n.position_new_path
WHERE n.position_new_path IS NOT NULL OR n.position_old_path IS NOT NULL
