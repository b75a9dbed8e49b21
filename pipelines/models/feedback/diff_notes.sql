-- Words pinned to a place in a diff: one row per comment, where it was said and where that stands now.
-- key: event_key
-- not null: path

SELECT
    said.event_key,
    said.thread_id,                                       -- replies share their opener's thread
    said.source,
    said.scope_name,
    said.parent_key,
    said.parent_number,
    said.author,
    said.body,
    note.path,
    CAST(NULL AS VARCHAR) AS old_path,                    -- GitHub names the new path only
    CASE WHEN note.side = 'LEFT' THEN NULL ELSE note.original_line END AS new_line,
    CASE WHEN note.side = 'LEFT' THEN note.original_line END AS old_line,
    note.original_line AS line,                           -- as the reviewer saw it; null on a whole-file note
    coalesce(note.original_start_line, note.original_line) AS start_line,
    anchor.line AS current_line,                          -- after later pushes; null when outdated
    anchor.start_line AS current_start_line,
    note.side,
    note.subject_type AS position_type,
    CAST(NULL AS VARCHAR) AS base_sha,
    CAST(NULL AS VARCHAR) AS start_sha,
    note.original_commit_id AS head_sha,                  -- the commit the reviewer was reading
    anchor.commit_id AS current_sha,
    coalesce(anchor.is_outdated, false) AS is_outdated,
    CAST(NULL AS BOOLEAN) AS is_resolved,
    nullif(regexp_extract(said.body, '```suggestion[^\n]*\n(.*?)```', 1, 's'), '') AS suggestion,
    note.diff_hunk,
    said.url,
    said.created_at
FROM feedback.comments AS said
INNER JOIN github.review_comments AS note ON note.event_key = said.event_key
LEFT JOIN github.review_comment_anchors AS anchor ON anchor.id = note.id
