-- Followed Bluesky accounts and how fresh each is: one row per account.
-- key: did

SELECT
    actor.did,
    actor.handle,
    actor.configured_as,
    actor.status,                                         -- active, deactivated, taken down, not found, blocked
    actor.is_unlisted,
    actor.handle_taken_by,                                -- somebody else, who holds the configured handle now
    actor.watermark IS NOT NULL AS has_watermark,
    actor.watermark,                                      -- when the last complete walk with news began
    scope.last_read_at AS last_polled_at,
    scope.last_new_at,
    scope.reads AS polls,
    scope.new AS posts_fetched,
    round(scope.new / scope.reads, 2) AS posts_per_poll,
    cursor.is_complete,                                   -- false: a capped walk goes on in the next run
    actor.status = 'active' AND coalesce(scope.last_read_at < latest.started_at, true) AS is_stale   -- the last run missed it
FROM bluesky.actors AS actor
LEFT JOIN ops.scopes AS scope ON scope.source = 'bluesky' AND scope.scope = actor.did
LEFT JOIN ops.cursors AS cursor ON cursor.source = 'bluesky' AND cursor.surface = 'posts' AND cursor.scope = actor.did
CROSS JOIN (SELECT max(started_at) AS started_at FROM ops.runs WHERE contains(sources, 'bluesky')) AS latest
