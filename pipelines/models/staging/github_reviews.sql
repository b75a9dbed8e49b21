-- Reviews of pull requests on GitHub: one row per version of text and verdict.
-- key: event_key

SELECT
    r.event_key,
    'github' AS source,
    'review' AS kind,
    r.scope,
    coalesce(repo.repo, r.repo) AS scope_name,
    CAST(r.id AS VARCHAR) AS id,
    r.version,
    r.parent_key,
    'pull_request' AS parent_kind,
    r.number AS parent_number,
    r.parent_key || ':conversation' AS thread_id,
    CAST(NULL AS VARCHAR) AS in_reply_to,
    r.author,
    r.author_association AS author_role,
    coalesce(r.author_type = 'Bot', false) OR r.author LIKE '%[bot]' AS is_bot,
    r.state = 'COMMENTED' AND r.body = '' AS is_system,   -- GitHub makes it to hold diff comments; nobody wrote it
    d.id IS NOT NULL OR gone.id IS NOT NULL AS is_deleted,
    coalesce(i.state = 'open', true) AS is_parent_open,
    coalesce(l.version = r.version, false) AS is_latest_told,
    false AS is_unlisted,
    lower(r.state) AS title,                              -- the verdict
    r.body,
    r.url,
    r.created_at,
    r.updated_at,
    r.seen_at
FROM github.reviews AS r
LEFT JOIN github.issues AS i ON i.parent_key = r.parent_key
LEFT JOIN github.repositories AS repo ON repo.scope = r.scope
LEFT JOIN github.latest_versions AS l ON l.kind = 'review' AND l.id = r.id
LEFT JOIN github.deletions AS d ON d.kind = 'review' AND d.id = r.id AND d.is_deleted
LEFT JOIN github.deletions AS gone
    ON gone.kind IN ('issue', 'pull_request') AND gone.parent_key = r.parent_key AND gone.is_deleted
