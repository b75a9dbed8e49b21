-- Links in the facets and preview cards of Bluesky posts: one row per version of a post and link.
-- key: event_key, url
-- kept by, where shared: parent_key

SELECT
    p.event_key,
    p.parent_key,
    l.url,
    l.said_url,
    l.domain,
    l.title,
    l.position
FROM bluesky.post_links AS l
INNER JOIN bluesky.posts AS p ON p.did = l.did AND p.uri = l.uri AND p.cid = l.cid
