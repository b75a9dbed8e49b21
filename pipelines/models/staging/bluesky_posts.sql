-- Posts, replies, quotes and reposts in the feeds of followed accounts on Bluesky: one row per version.
-- key: event_key

SELECT
    p.event_key,
    'bluesky' AS source,
    p.kind,
    p.scope,
    coalesce(actor.handle, p.handle) AS scope_name,
    p.uri AS id,
    p.cid AS version,
    p.parent_key,
    'post' AS parent_kind,
    CAST(NULL AS BIGINT) AS parent_number,
    p.parent_key AS thread_id,                            -- a thread is named after the post that opens it
    p.reply_parent_uri AS in_reply_to,
    coalesce(actor.handle, p.handle) AS author,           -- of a repost: who passed it on
    CAST(NULL AS VARCHAR) AS author_role,
    false AS is_bot,
    false AS is_system,
    coalesce(d.is_deleted, false) OR coalesce(gone.is_deleted, false) AS is_deleted,
    p.kind <> 'repost' AS is_parent_open,                 -- threads never close; nobody waits for an answer to a repost
    coalesce(s.cid = p.cid, true) AS is_latest_told,
    coalesce(actor.is_unlisted, false) OR coalesce(s.is_unlisted, p.is_unlisted, false) AS is_unlisted,
    CAST(NULL AS VARCHAR) AS title,
    p.text AS body,
    'https://bsky.app/profile/' || p.author_did || '/post/' || regexp_extract(p.post_uri, '[^/]+$') AS url,
    p.said_at AS created_at,                              -- as claimed, but not later than it was first indexed
    p.indexed_at AS updated_at,
    p.seen_at
FROM bluesky.posts AS p
LEFT JOIN bluesky.actors AS actor ON actor.scope = p.scope
LEFT JOIN bluesky.post_states AS s ON s.did = p.did AND s.uri = p.uri
LEFT JOIN bluesky.deletions AS d ON d.uri = p.uri
LEFT JOIN bluesky.deletions AS gone ON gone.uri = p.post_uri
