-- Slash commands in what was said: one row per command in a version of an utterance.
-- key: command_key
-- not null: event_key, arguments, options

WITH answers AS (
    SELECT
        answer.event_key,
        answer.command_key,                               -- null: it answers all that the utterance says
        max(seen.event_key) AS answered_by
    FROM ops.answers AS answer
    LEFT JOIN feedback.tokens AS seen ON seen.token = answer.token AND seen.is_own
    WHERE answer.status IN ('posted', 'observed') AND answer.event_key IS NOT NULL
    GROUP BY answer.event_key, answer.command_key
)

SELECT
    said.event_key || ':' || CAST(mark.position AS VARCHAR) AS command_key,
    said.event_key,
    said.source,
    said.scope,
    said.scope_name,
    said.parent_key,
    said.parent_kind,
    said.parent_number,
    said.thread_id,
    mark.position,                                        -- 1 is the utterance's first
    mark.name,                                            -- null where none is named
    mark.arguments,                                       -- JSON: a list
    mark.options,                                         -- JSON: key=value
    mark.problem,                                         -- why it cannot be read as a command
    mark.line,
    said.author,
    said.author_role,
    CASE                                                  -- by `authors`; without them, by the service's word for members
        WHEN EXISTS (SELECT 1 FROM ops.authors) THEN said.author IN (SELECT login FROM ops.authors)
        ELSE coalesce(said.author_role IN ('OWNER', 'MEMBER', 'COLLABORATOR', 'internal'), false)
    END AS is_author_allowed,
    said.is_own,
    said.is_bot,
    said.is_latest,
    said.is_deleted,
    said.is_actionable,
    CASE WHEN whole.event_key IS NOT NULL OR one.event_key IS NOT NULL THEN 'answered' ELSE 'seen' END AS status,
    coalesce(one.answered_by, whole.answered_by) AS answered_by,
    said.url,
    said.created_at,
    said.updated_at,
    said.seen_at
FROM staging.marks AS mark
INNER JOIN feedback.events AS said ON said.event_key = mark.event_key
LEFT JOIN answers AS whole ON whole.event_key = said.event_key AND whole.command_key IS NULL
LEFT JOIN answers AS one ON one.command_key = said.event_key || ':' || CAST(mark.position AS VARCHAR)
WHERE mark.kind = 'command'
