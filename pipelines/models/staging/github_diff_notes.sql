-- Where GitHub's review comments were said and where that stands now: one row per comment version.
-- key: event_key

SELECT
    note.event_key,
    note.path,
    CAST(NULL AS VARCHAR) AS old_path,                    -- GitHub names the new path only
    CASE WHEN note.side = 'LEFT' THEN NULL ELSE note.original_line END AS new_line,
    CASE WHEN note.side = 'LEFT' THEN note.original_line END AS old_line,
    note.original_line AS line,
    coalesce(note.original_start_line, note.original_line) AS start_line,
    anchor.line AS current_line,
    anchor.start_line AS current_start_line,
    note.side,
    note.subject_type AS position_type,
    CAST(NULL AS VARCHAR) AS base_sha,
    CAST(NULL AS VARCHAR) AS start_sha,
    note.original_commit_id AS head_sha,
    anchor.commit_id AS current_sha,
    coalesce(anchor.is_outdated, false) AS is_outdated,
    note.diff_hunk
FROM github.review_comments AS note
LEFT JOIN github.review_comment_anchors AS anchor ON anchor.id = note.id
