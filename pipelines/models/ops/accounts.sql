-- Followed Bluesky accounts and how fresh each is: one row per account.
-- key: did

WITH begun AS (SELECT shard, max(started_at) AS started_at FROM ops.runs WHERE contains(sources, 'bluesky') AND mode IN ('bulk', 'full', 'sweep') GROUP BY shard),

read AS (                                                 -- a scope may have had several owners
    SELECT
        scope,
        arg_max(shard, last_read_at) AS shard,
        max(last_read_at) AS last_read_at,
        max(last_new_at) AS last_new_at,
        sum(reads) AS reads,
        sum(new) AS new
    FROM ops.scopes
    WHERE source = 'bluesky'
    GROUP BY scope
)

SELECT
    actor.did,                                            -- the account's id: survives renames
    actor.handle,
    actor.configured_as,                                  -- as the configuration names it
    actor.status,                                         -- active, deactivated, taken down, not found, blocked
    actor.is_unlisted,
    actor.handle_taken_by,                                -- somebody else, who holds the configured handle now
    actor.watermark IS NOT NULL AS has_watermark,         -- it was read to its end once
    actor.watermark,                                      -- when the last complete walk with news began
    actor.deep_swept_at,                                  -- when its own records were last compared with what is held
    read.last_read_at AS last_polled_at,                  -- when its feed was last read
    read.last_new_at,                                     -- when its feed last had news
    CAST(read.reads AS BIGINT) AS polls,                  -- how often its feed was read
    CAST(read.new AS BIGINT) AS posts_fetched,            -- posts that were new
    round(read.new / read.reads, 2) AS posts_per_poll,    -- new posts for each time it was read
    cursor.is_complete,                                   -- false: a capped walk goes on in the next run
    actor.status = 'active' AND coalesce(read.last_read_at < begun.started_at, true) AS is_stale   -- the last run missed it
FROM bluesky.actors AS actor
LEFT JOIN read ON read.scope = actor.did
LEFT JOIN ops.cursors AS cursor ON cursor.source = 'bluesky' AND cursor.surface = 'posts' AND cursor.scope = actor.did
LEFT JOIN begun ON begun.shard = read.shard
