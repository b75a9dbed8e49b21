-- The source's own counts against ours: one row per issue, pull request or merge request whose comments are counted, and
-- per one that could not be read at all.
-- key: parent_key
-- kept by, where shared: parent_key

WITH counts AS (
    SELECT * FROM staging.github_counts
    UNION ALL SELECT * FROM staging.gitlab_counts
),

unread AS (                                               -- open in quarantine: itself, or something said in it
    SELECT
        q.parent_key,
        any_value(q.source) AS source,
        any_value(q.scope) AS scope,
        any_value(coalesce(s.scope_name, q.scope)) AS scope_name,
        count(*) AS unread_count
    FROM ops.quarantine AS q
    LEFT JOIN ops.scopes AS s ON s.source = q.source AND s.scope = q.scope
    WHERE q.resolved_at IS NULL AND q.let_be_at IS NULL AND q.parent_key IS NOT NULL
    GROUP BY q.parent_key
)

SELECT
    coalesce(counts.parent_key, unread.parent_key) AS parent_key,
    coalesce(counts.source, unread.source) AS source,
    coalesce(counts.scope, unread.scope) AS scope,
    coalesce(counts.scope_name, unread.scope_name) AS scope_name,
    coalesce(counts.parent_number, CAST(regexp_extract(unread.parent_key, '[0-9]+$') AS BIGINT)) AS parent_number,
    counts.remote_count,                                  -- null where the service's own word could not be read
    coalesce(counts.held_count, 0) AS held_count,         -- comments that we hold
    coalesce(unread.unread_count, 0) AS unread_count,     -- records that could not be read, as `earshot quarantine` lists
    unread.parent_key IS NULL
    AND counts.remote_count BETWEEN counts.held_count AND counts.held_count + counts.let_be_count AS is_complete, -- we hold all that the service counts, and nothing of it is unread
    counts.checked_at,                                    -- last read whole
    counts.is_all_that_is_listed AND unread.parent_key IS NULL AS is_all_that_is_listed -- services count what they hide from our token
FROM counts
FULL JOIN unread ON unread.parent_key = counts.parent_key
