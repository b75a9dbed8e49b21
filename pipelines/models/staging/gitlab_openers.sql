-- The opening words of merge requests and issues on GitLab: one row per version of title and text.
-- key: event_key

WITH parents AS (
    SELECT id, parent_key, state, opener_version, seen_at, 'merge_request' AS kind FROM gitlab.merge_requests
    UNION ALL SELECT id, parent_key, state, opener_version, seen_at, 'issue' AS kind FROM gitlab.issues
)

SELECT
    o.event_key,
    'gitlab' AS source,
    o.parent_kind AS kind,
    o.scope,
    coalesce(project.project, o.project) AS scope_name,
    CAST(o.id AS VARCHAR) AS id,
    o.version,
    o.parent_key,
    o.parent_kind,
    o.number AS parent_number,
    o.parent_key || ':conversation' AS thread_id,
    CAST(NULL AS VARCHAR) AS in_reply_to,
    o.author,
    CAST(NULL AS VARCHAR) AS author_role,
    regexp_matches(lower(o.author), '(^|[-_])bot([-_]|$)|^service_account_') AS is_bot,
    false AS is_system,
    d.parent_key IS NOT NULL AS is_deleted,
    p.state = 'opened' AS is_parent_open,
    o.version = p.opener_version AS is_latest_told,       -- a title can be changed back: its hash is an old one then
    false AS is_unlisted,
    o.title,
    o.body,
    o.url,
    o.created_at,
    o.updated_at,
    o.seen_at
FROM gitlab.openers AS o
INNER JOIN parents AS p ON p.parent_key = o.parent_key
LEFT JOIN gitlab.projects AS project ON project.scope = o.scope
LEFT JOIN gitlab.deletions AS d ON d.parent_key = o.parent_key AND d.is_deleted AND d.noticed_at >= p.seen_at
