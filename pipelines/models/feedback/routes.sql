-- What was said on an issue that a pull or merge request answers (`earshot link`): one row per version of a comment.
-- key: event_key

SELECT
    said.event_key,
    link.issue_key,
    link.change_key,
    CASE
        WHEN said.created_at <= coalesce(change.created_at, link.linked_at) THEN 'before'
        ELSE 'after'
    END AS route,                                         -- before the change was opened, or after: then it belongs there
    CAST(said.id AS BIGINT) AS comment_id,                -- the service's id: later comments have greater ones
    said.author,
    said.is_latest,
    said.is_deleted,
    said.is_own,
    said.is_bot,
    said.created_at,
    link.linked_at
FROM ops.links AS link
INNER JOIN feedback.events AS said ON said.parent_key = link.issue_key
LEFT JOIN feedback.parents AS change ON change.parent_key = link.change_key
WHERE said.kind IN ('issue_comment', 'note') AND NOT said.is_system
