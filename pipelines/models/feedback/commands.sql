-- Slash commands in what was said: one row per command as it was worded; words that stand unchanged in a later version of
-- their utterance are the same command.
-- key: command_key
-- not null: event_key, arguments, options

WITH answers AS (
    SELECT
        answer.said_key,
        answer.command_key,                               -- null: it answers all that the utterance says
        max(seen.event_key) AS answered_by
    FROM ops.answers AS answer
    LEFT JOIN feedback.tokens AS seen ON seen.token = answer.token AND seen.is_own
    WHERE answer.status IN ('posted', 'observed') AND answer.said_key IS NOT NULL
    GROUP BY answer.said_key, answer.command_key
),

said AS (
    SELECT
        event.*,
        mark.said_key,
        mark.said_key || ':' || CAST(mark.position AS VARCHAR) AS command_key,
        mark.position,
        mark.name,
        mark.arguments,
        mark.options,
        mark.problem,
        mark.line,
        row_number() OVER (
            PARTITION BY mark.said_key, mark.position ORDER BY event.is_latest DESC, event.updated_at DESC, event.event_key DESC
        ) AS later
    FROM staging.marks AS mark
    INNER JOIN feedback.events AS event ON event.event_key = mark.event_key
    WHERE mark.kind = 'command'
)

SELECT
    said.command_key,
    said.said_key,                                        -- the utterance in these words, whatever its time
    said.event_key,                                       -- the latest version that says it so
    said.source,
    said.scope,
    said.scope_name,
    said.parent_key,
    said.parent_kind,
    said.parent_number,
    said.thread_id,
    said.position,                                        -- 1 is the utterance's first
    said.name,                                            -- null where none is named
    said.arguments,                                       -- JSON: a list
    said.options,                                         -- JSON: key=value
    said.problem,                                         -- why it cannot be read as a command
    said.line,
    said.author,
    said.author_role,
    CASE                                                  -- by `authors`; without them, by the service's word for members
        WHEN EXISTS (SELECT 1 FROM ops.authors) THEN lower(said.author) IN (SELECT login FROM ops.authors)
        ELSE coalesce(said.author_role IN ('OWNER', 'MEMBER', 'COLLABORATOR', 'internal'), false)
    END AS is_author_allowed,
    said.is_own,
    said.is_bot,
    said.is_latest,
    said.is_deleted,
    said.is_actionable,
    CASE WHEN whole.said_key IS NOT NULL OR one.said_key IS NOT NULL THEN 'answered' ELSE 'seen' END AS status,
    coalesce(one.answered_by, whole.answered_by) AS answered_by,
    said.url,
    said.created_at,
    said.updated_at,
    said.seen_at
FROM said
LEFT JOIN answers AS whole ON whole.said_key = said.said_key AND whole.command_key IS NULL
LEFT JOIN answers AS one ON one.command_key = said.command_key
WHERE said.later = 1
