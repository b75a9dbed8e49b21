-- What search finds: one row per issue, pull request, merge request or thread of posts, with all that is said in it now.
-- key: document_key
-- not null: parent_key, source, kind, scope, body, content_hash, updated_at
-- kept by: parent_key
-- stage: docs

WITH places AS (
    SELECT
        event_key,
        any_value(path || CASE
            WHEN line IS NULL THEN ''
            WHEN start_line < line THEN ':' || start_line || '-' || line
            ELSE ':' || line
        END) AS place
    FROM feedback.diff_notes
    GROUP BY event_key
),

said AS (
    SELECT
        c.*,
        c.kind = c.parent_kind AS is_opener,
        coalesce(c.is_unlisted, false) AS is_hidden,
        row_number() OVER (                               -- what is shown first; ids grow where instants do not
            PARTITION BY c.parent_key ORDER BY
                coalesce(c.is_unlisted, false), c.created_at, lpad(split_part(c.id, '/', -1), 20, '0'), c.event_key
        ) AS nth,
        CASE                                              -- in a conversation everybody has the floor in turn
            WHEN ends_with(c.thread_id, ':conversation') THEN c.created_at
            ELSE min(c.created_at) OVER (PARTITION BY c.thread_id)
        END AS thread_at,
        trim(replace(c.body, chr(13), '')) AS words,
        '@' || coalesce(c.author, '?') || ' (' || strftime(c.created_at AT TIME ZONE 'UTC', '%Y-%m-%d') || ')'
        || coalesce(' [' || places.place || ']', '') || ':' AS head
    FROM feedback.comments AS c
    LEFT JOIN places ON places.event_key = c.event_key
    WHERE NOT c.is_system AND c.kind <> 'repost'
),

talk AS (
    SELECT
        parent_key,
        any_value(source) AS source,
        any_value(parent_kind) AS kind,
        any_value(scope) FILTER (nth = 1) AS scope,
        any_value(scope_name) FILTER (nth = 1) AS scope_name,
        any_value(parent_number) AS number,
        any_value(author) FILTER (nth = 1) AS author,
        any_value(url) FILTER (nth = 1) AS url,
        any_value(title) FILTER (is_opener) AS title,
        any_value(words) FILTER (is_opener AND source <> 'bluesky') AS description,
        string_agg(head || chr(10) || words, chr(10) || chr(10) ORDER BY thread_at, thread_id, nth)
            FILTER (NOT is_hidden AND words <> '' AND (NOT is_opener OR source = 'bluesky')) AS discussion,
        list(DISTINCT lower(author) ORDER BY lower(author)) FILTER (NOT is_hidden AND author IS NOT NULL) AS participants,
        bool_or(is_hidden) AS is_unlisted,
        count(*) FILTER (NOT is_hidden) AS shown_count,
        min(created_at) AS created_at,
        max(updated_at) AS updated_at
    FROM said
    GROUP BY parent_key
),

told AS (
    SELECT
        talk.parent_key,
        talk.source,
        talk.kind,
        talk.scope,
        coalesce(parent.scope_name, talk.scope_name) AS scope_name,
        talk.number,
        coalesce(parent.title, talk.title) AS title,
        coalesce(parent.author, talk.author) AS author,
        concat_ws(
            chr(10) || chr(10),
            nullif(talk.description, ''),
            'Labels: ' || nullif(array_to_string(parent.labels, ', '), ''),
            talk.discussion
        ) AS body,
        coalesce(talk.participants, []) AS participants,
        coalesce(parent.url, talk.url) AS url,
        coalesce(parent.created_at, talk.created_at) AS created_at,
        greatest(parent.updated_at, talk.updated_at) AS updated_at,
        talk.is_unlisted
    FROM talk
    LEFT JOIN feedback.parents AS parent ON parent.parent_key = talk.parent_key
    WHERE talk.shown_count > 0 AND (parent.parent_key IS NOT NULL OR talk.kind = 'post')
)

SELECT
    parent_key AS document_key,                           -- the same as parent_key
    parent_key,
    source,
    kind,                                                 -- issue, pull_request, merge_request, post
    scope,
    scope_name,
    number,
    title,                                                -- null of a post
    author,                                               -- who opened it
    participants,                                         -- whose words are in it, in small letters
    body,                                                 -- description, labels, then the threads in order
    md5(coalesce(title, '') || chr(10) || body) AS content_hash, -- of title and body: what is embedded once is not embedded again
    is_unlisted,                                          -- somebody in it asks not to be shown; these words are left out
    url,
    created_at,
    updated_at
FROM told
