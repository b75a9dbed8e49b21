-- Verdicts on pull and merge requests, also those without words: one row per review.
-- key: event_key
-- not null: verdict
-- kept by, where shared: parent_key

WITH verdicts AS (
    SELECT * FROM staging.github_verdicts
    UNION ALL SELECT * FROM staging.gitlab_verdicts
),

given AS (
    SELECT
        said.*,
        decided.verdict,
        decided.has_words,
        decided.commit_sha,
        decided.verdict <> 'commented' AND row_number() OVER (
            PARTITION BY said.parent_key, said.author, decided.verdict = 'commented'
            ORDER BY said.created_at DESC, lpad(said.id, 20, '0') DESC, said.event_key DESC
        ) = 1 AS is_standing
    FROM feedback.comments AS said
    INNER JOIN verdicts AS decided ON decided.event_key = said.event_key
)

SELECT
    event_key,
    source,
    scope,
    scope_name,
    parent_key,
    parent_kind,
    parent_number,
    author,
    is_team,
    is_bot,
    verdict,                                              -- approved, changes_requested, commented, dismissed, unapproved
    is_standing,                                          -- its author's last verdict there; words alone change none
    has_words,                                            -- there is a text with it
    body,
    commit_sha,                                           -- what was reviewed; null where the service does not tell
    url,
    created_at,
    updated_at
FROM given
