-- Conversation comments on GitHub issues and pull requests: one row per version.
-- key: event_key

SELECT
    c.event_key,
    'github' AS source,
    'issue_comment' AS kind,
    c.scope,
    coalesce(repo.repo, c.repo) AS scope_name,
    CAST(c.id AS VARCHAR) AS id,
    c.version,
    c.parent_key,
    CASE WHEN i.is_pull_request THEN 'pull_request' ELSE 'issue' END AS parent_kind,
    c.number AS parent_number,
    c.parent_key || ':conversation' AS thread_id,
    CAST(NULL AS VARCHAR) AS in_reply_to,
    c.author,
    c.author_association AS author_role,
    coalesce(c.author_type = 'Bot', false) OR c.author LIKE '%[bot]' AS is_bot,  -- an app it was written with is no author
    false AS is_system,
    d.id IS NOT NULL OR gone.id IS NOT NULL AS is_deleted,
    coalesce(i.state = 'open', true) AS is_parent_open,
    l.version = c.version AND c.updated_at = max(c.updated_at) OVER (PARTITION BY c.id) AS is_latest_told,
    false AS is_unlisted,
    CAST(NULL AS VARCHAR) AS title,
    c.body,
    c.url,
    c.created_at,
    c.updated_at,
    c.seen_at
FROM github.issue_comments AS c
LEFT JOIN github.issues AS i ON i.parent_key = c.parent_key
LEFT JOIN github.repositories AS repo ON repo.scope = c.scope
LEFT JOIN github.latest_versions AS l ON l.kind = 'issue_comment' AND l.id = c.id
LEFT JOIN github.deletions AS d ON d.kind = 'issue_comment' AND d.id = c.id AND d.is_deleted
LEFT JOIN github.deletions AS gone
    ON gone.kind IN ('issue', 'pull_request') AND gone.parent_key = c.parent_key AND gone.is_deleted
