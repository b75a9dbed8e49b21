-- Discussions: one row per thread (a conversation, or the replies to one place in a diff).
-- key: thread_id
-- kept by: parent_key

WITH spoken AS (
    SELECT
        *,
        (NOT is_bot OR is_own) AND author <> 'ghost'                       -- who is gone asks no more
        AND NOT (kind = 'review' AND body = '' AND is_team IS NOT TRUE) AS takes_turn,   -- a nod asks for nothing
        row_number() OVER (                                -- ids grow where instants do not
            PARTITION BY thread_id ORDER BY created_at, lpad(split_part(id, '/', -1), 20, '0'), event_key
        ) AS nth,
        count(*) OVER (PARTITION BY thread_id) AS said_count
    FROM feedback.comments
    WHERE NOT is_system AND kind <> 'repost'
),

threads AS (
    SELECT
        thread_id,
        any_value(source) AS source,
        any_value(scope) FILTER (WHERE nth = 1) AS scope,
        any_value(scope_name) FILTER (WHERE nth = 1) AS scope_name,
        any_value(parent_key) AS parent_key,
        any_value(parent_kind) AS parent_kind,
        any_value(parent_number) AS parent_number,
        any_value(author) FILTER (WHERE nth = 1) AS opener,
        any_value(body) FILTER (WHERE nth = 1) AS opening_words,
        any_value(url) FILTER (WHERE nth = 1) AS url,
        any_value(author) FILTER (WHERE nth = said_count) AS last_author,
        any_value(body) FILTER (WHERE nth = said_count) AS last_words,
        arg_max(author, nth) FILTER (WHERE takes_turn) AS last_to_answer,
        arg_max(CASE WHEN is_team THEN 'team' WHEN NOT is_team THEN 'stranger' ELSE 'nobody tells' END, nth)
            FILTER (WHERE takes_turn) AS last_side,
        arg_min(author, nth) FILTER (WHERE takes_turn) AS first_to_ask,
        bool_or(is_team) AS has_team,                      -- null: nobody tells
        bool_or(kind IN ('review_comment', 'diff_note')) AS is_on_a_diff,
        bool_or(is_actionable) AS is_open,
        bool_or(is_unlisted) AS is_unlisted,
        arg_max(event_key, nth) FILTER (WHERE is_own) AS answered_by,
        any_value(said_count) AS comment_count,
        count(DISTINCT author) AS participant_count,
        min(created_at) AS opened_at,
        max(created_at) AS last_at
    FROM spoken
    GROUP BY thread_id
),

asked AS (
    SELECT parent_key, arg_min(author, nth) AS parent_author
    FROM spoken
    WHERE takes_turn AND (kind = parent_kind OR (source || ':' || id = parent_key))   -- the opener's own words; a post opens its thread
    GROUP BY parent_key
)

SELECT
    threads.thread_id,
    threads.source,
    threads.scope,
    threads.scope_name,
    threads.parent_key,
    threads.parent_kind,
    threads.parent_number,
    threads.opener,                                       -- who began it
    threads.opening_words,                                -- what it began with
    threads.last_author,                                  -- who said the last word, bots too
    threads.last_words,                                   -- what was said last
    coalesce(resolution.is_resolvable, threads.is_on_a_diff) AS is_resolvable, -- it can be settled by a click
    resolution.is_resolved,                               -- null where the service does not tell (GitHub without a token)
    resolution.resolved_by,                               -- who did it; null: nobody, or an account that is gone
    resolution.resolved_at,                               -- when, where the service tells (GitLab)
    resolution.seen_resolved_at,                          -- when a run saw that it had been, where none tells when it was (GitHub)
    resolution.is_outdated,                               -- what it was said on was pushed to since; null: on no diff, or not told
    threads.is_unlisted,                                  -- somebody in it asks not to be shown to the public
    threads.answered_by,                                  -- event_key of our own last answer in it
    threads.comment_count,                                -- utterances in it, without those that the service wrote
    threads.participant_count,                            -- different people and bots in it
    threads.opened_at,                                    -- when it began
    threads.last_at,                                      -- when its last word was said
    CASE
        WHEN NOT threads.is_open OR threads.last_to_answer IS NULL OR resolution.is_resolved THEN NULL
        WHEN threads.parent_kind = 'post' AND NOT threads.has_team THEN NULL              -- strangers among themselves
        WHEN threads.last_side = 'stranger' THEN 'team'
        WHEN threads.last_to_answer <> asked.parent_author THEN asked.parent_author
        WHEN threads.last_side = 'nobody tells' AND threads.parent_kind <> 'post' THEN 'team'
        WHEN threads.last_to_answer <> threads.first_to_ask THEN threads.first_to_ask     -- of a thread in a diff
    END AS waiting_on,                                    -- whose turn it is: 'team', a person, or null: nobody is asked
    threads.url
FROM threads
LEFT JOIN asked ON asked.parent_key = threads.parent_key
LEFT JOIN staging.resolutions AS resolution ON resolution.thread_id = threads.thread_id
