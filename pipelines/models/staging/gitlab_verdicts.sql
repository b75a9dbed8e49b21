-- What GitLab's reviewers decide, which it tells in notes of its own: one row per such note.
-- key: event_key

SELECT
    event_key,
    CASE lower(body)
        WHEN 'approved this merge request' THEN 'approved'
        WHEN 'unapproved this merge request' THEN 'unapproved'
        WHEN 'requested changes' THEN 'changes_requested'
    END AS verdict,
    false AS has_words,
    CAST(NULL AS VARCHAR) AS commit_sha
FROM gitlab.note_versions
WHERE is_system AND lower(body) IN ('approved this merge request', 'unapproved this merge request', 'requested changes')
