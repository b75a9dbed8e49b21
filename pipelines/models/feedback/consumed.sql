-- How far a consumer has come on an issue with a link: one row per consumer, issue and route. What was said later there
-- has a greater `comment_id`.
-- key: consumer, issue_key, route

SELECT
    acknowledged.consumer,
    route.issue_key,
    route.route,                                          -- before the change was opened, or after
    max(route.comment_id) AS last_comment_id,             -- the newest comment there that it acknowledged
    max(acknowledged.processed_at) AS last_at             -- when it acknowledged that
FROM ops.acknowledgements AS acknowledged
INNER JOIN feedback.routes AS route ON route.event_key = acknowledged.event_key
GROUP BY acknowledged.consumer, route.issue_key, route.route
