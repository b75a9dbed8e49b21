-- Everything said, everywhere: one row per version of an utterance.
-- key: event_key
-- not null: source, kind, scope, parent_key, body, created_at, seen_at
-- kept by: parent_key

WITH said AS (
    SELECT * FROM staging.github_openers
    UNION ALL SELECT * FROM staging.github_issue_comments
    UNION ALL SELECT * FROM staging.github_review_comments
    UNION ALL SELECT * FROM staging.github_reviews
    UNION ALL SELECT * FROM staging.gitlab_openers
    UNION ALL SELECT * FROM staging.gitlab_notes
    UNION ALL SELECT * FROM staging.bluesky_posts
),

ordered AS (
    SELECT
        said.*,
        row_number() OVER (
            PARTITION BY source, kind, scope, id ORDER BY updated_at ASC, seen_at ASC, version ASC
        ) AS version_number,
        row_number() OVER (
            PARTITION BY source, kind, scope, id
            ORDER BY coalesce(is_latest_told, false) DESC, updated_at DESC, seen_at DESC, version DESC
        ) AS versions_after,
        NOT EXISTS (SELECT 1 FROM ops.authors) OR author IN (SELECT login FROM ops.authors) AS is_author_asked
    FROM said
)

SELECT
    event_key,                                            -- source:kind:scope:id:version, the same for ever
    source,
    kind,
    scope,                                                -- numeric id: survives renames
    scope_name,                                           -- what people call it today
    id,                                                   -- the service's own id, shared by all versions
    parent_key,
    parent_kind,
    parent_number,
    thread_id,
    in_reply_to,
    author,
    author_role,
    is_bot,
    is_system,                                            -- written by the service, not by a person
    version_number > 1 AS is_edit,
    versions_after = 1 AS is_latest,
    is_deleted,
    versions_after = 1 AND is_parent_open AND NOT is_deleted AND NOT is_system AND NOT is_bot AND is_author_asked
        AS is_actionable,
    is_unlisted,                                          -- the author asks not to be shown to the public
    title,
    body,
    url,
    created_at,
    updated_at,
    seen_at                                               -- when this version was first seen
FROM ordered
