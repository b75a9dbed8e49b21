-- The opening words of issues and pull requests on GitHub: one row per version of title and text.
-- key: event_key

SELECT
    o.event_key,
    'github' AS source,
    o.kind,
    o.scope,
    coalesce(repo.repo, i.repo) AS scope_name,
    CAST(o.id AS VARCHAR) AS id,
    o.version,
    o.parent_key,
    o.kind AS parent_kind,
    o.number AS parent_number,
    o.parent_key || ':conversation' AS thread_id,
    CAST(NULL AS VARCHAR) AS in_reply_to,
    o.author,
    o.author_association AS author_role,
    coalesce(o.author_type = 'Bot', false) OR o.author LIKE '%[bot]' AS is_bot,
    false AS is_system,
    d.id IS NOT NULL AS is_deleted,
    coalesce(i.state = 'open', true) AS is_parent_open,
    o.version = i.opener_version AS is_latest_told,       -- a title can be changed back: its hash is an old one then
    false AS is_unlisted,
    o.title,
    o.body,
    o.url,
    o.created_at,
    o.updated_at,
    o.seen_at
FROM github.openers AS o
LEFT JOIN github.issues AS i ON i.id = o.id              -- none where the rest of it cannot be read
LEFT JOIN github.repositories AS repo ON repo.scope = o.scope
LEFT JOIN github.deletions AS d ON d.kind = o.kind AND d.id = o.id AND d.is_deleted
