-- Everything said, everywhere: one row per version of an utterance.
-- key: event_key
-- not null: source, kind, scope, parent_key, body, created_at, seen_at
-- kept by: parent_key

WITH signed AS (                                          -- markers, and whose the answer is, where that is known
    SELECT mark.event_key, answer.author
    FROM staging.marks AS mark
    LEFT JOIN ops.answers AS answer ON answer.token = mark.token
    WHERE mark.kind = 'token'
),

uttered AS (                                             -- an edit can make a post a quote
    SELECT *, CASE parent_kind WHEN 'post' THEN parent_kind ELSE kind END AS surface FROM staging.said
),

ordered AS (
    SELECT
        said.*,
        row_number() OVER (
            PARTITION BY source, surface, scope, id ORDER BY updated_at ASC, seen_at ASC, version ASC
        ) AS version_number,
        row_number() OVER (
            PARTITION BY source, surface, scope, id
            ORDER BY coalesce(is_latest_told, false) DESC, updated_at DESC, seen_at DESC, version DESC
        ) AS versions_after,
        NOT EXISTS (SELECT 1 FROM ops.authors) OR lower(author) IN (SELECT login FROM ops.authors) AS is_author_asked,
        event_key IN (SELECT event_key FROM signed WHERE author IS NULL)
        OR (event_key, coalesce(author, '')) IN (SELECT event_key, author FROM signed WHERE author IS NOT NULL) AS is_own,
        event_key IN (SELECT event_key FROM staging.marks WHERE kind = 'command') AS has_command,
        CASE
            WHEN EXISTS (SELECT 1 FROM ops.team) THEN coalesce(
                lower(author) IN (SELECT login FROM ops.team)
                OR lower(scope) IN (SELECT login FROM ops.team WHERE starts_with(login, 'did:')), false
            )
            ELSE author_role IN ('OWNER', 'MEMBER', 'COLLABORATOR', 'internal')
        END AS is_author_of_team
    FROM uttered AS said
)

SELECT
    event_key,
    source,
    kind,
    scope,
    scope_name,
    id,
    ordered.parent_key,
    parent_kind,
    parent_number,
    ordered.thread_id,
    in_reply_to,
    author,
    author_role,
    is_bot,
    is_system,
    is_own,
    is_own OR is_author_of_team AS is_team,
    version_number > 1 AS is_edit,
    versions_after = 1 AS is_latest,
    is_deleted,
    versions_after = 1 AND is_parent_open AND NOT is_deleted AND NOT is_system AND NOT is_bot AND NOT is_own
    AND is_author_asked AND resolution.is_resolved IS NOT TRUE
    AND CASE life.state                                   -- as `earshot watch`, `unwatch` and `resume` have it
        WHEN 'watched' THEN coalesce(updated_at >= life.actionable_from, true)
        WHEN 'blocked' THEN has_command
        ELSE life.state IS NULL                           -- closed and merged are so for good, also when reopened
    END AS is_actionable,
    is_unlisted,
    title,
    body,
    url,
    created_at,
    updated_at,
    seen_at
FROM ordered
LEFT JOIN staging.resolutions AS resolution ON resolution.thread_id = ordered.thread_id
LEFT JOIN ops.lifecycle AS life ON life.parent_key = ordered.parent_key
