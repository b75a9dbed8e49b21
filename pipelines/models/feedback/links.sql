-- Links that people share on Bluesky: one row per link and the words that share it; reposts share it again.
-- key: event_key, url
-- not null: url, author

SELECT
    link.event_key,
    link.url,                                             -- one spelling for one page: no fragment, no click trackers
    link.domain,                                          -- the page's host
    link.title,                                           -- of its preview card, where there is one
    said.source,
    said.kind,
    said.author,
    said.is_unlisted,
    said.thread_id,
    said.created_at,
    count(*) OVER (PARTITION BY link.url, said.author) AS shared_by_author,   -- how often this author shared it, ever
    count(*) OVER (PARTITION BY link.url) AS shared_by_all -- how often anybody shared it
FROM staging.bluesky_links AS link
INNER JOIN feedback.comments AS said ON said.event_key = link.event_key
