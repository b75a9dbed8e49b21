-- What posts hold of kinds that nobody here knows yet: one row per kind. It is kept raw in `bluesky.posts.other_embeds`.
-- key: type

WITH named AS (
    SELECT
        p.seen_at,
        unnest(json_extract_string(p.other_types, '$[*]')) AS type
    FROM bluesky.posts AS p
    WHERE p.other_types IS NOT NULL
)

SELECT
    type,                                                 -- as its author's client wrote it
    count(*) AS posts,                                    -- versions of posts that hold some
    min(seen_at) AS first_seen_at,                        -- when a run first saw one
    max(seen_at) AS last_seen_at                          -- when a run last saw one
FROM named
GROUP BY type
