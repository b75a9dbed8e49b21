-- Slash commands in what was said: one row per command. It stays the same one while the words around it are edited; what
-- asks for something else is another (`pipelines/models/slash_commands.py`).
-- key: command_key
-- not null: event_key, arguments, options

WITH keys AS (                                            -- whatever an answer to it may name: it,
    SELECT command_key, command_key AS named FROM staging.marks WHERE kind = 'command'
    UNION SELECT command_key, said_key AS named FROM staging.marks WHERE kind = 'command'  -- or all that was said
),

answered AS (
    SELECT keys.command_key, max(seen.event_key) AS answered_by
    FROM keys
    INNER JOIN ops.answers AS answer ON coalesce(answer.command_key, answer.said_key) = keys.named
    LEFT JOIN feedback.tokens AS seen ON seen.token = answer.token AND seen.is_own
    WHERE answer.status IN ('posted', 'observed')
    GROUP BY keys.command_key
),

said AS (
    SELECT
        event.*,
        mark.said_key,
        mark.command_key,
        mark.position,
        mark.name,
        mark.arguments,
        mark.options,
        mark.problem,
        mark.line,
        row_number() OVER (
            PARTITION BY mark.command_key ORDER BY event.is_latest DESC, event.updated_at DESC, event.event_key DESC
        ) AS later
    FROM staging.marks AS mark
    INNER JOIN feedback.events AS event ON event.event_key = mark.event_key
    WHERE mark.kind = 'command'
)

SELECT
    said.command_key,
    said.said_key,                                        -- the utterance in these words, whatever its time
    said.event_key,                                       -- the latest version that asks for it
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
    said.line,                                            -- as it was written
    said.author,
    said.author_role,
    CASE
        WHEN EXISTS (SELECT 1 FROM ops.authors) THEN lower(said.author) IN (SELECT login FROM ops.authors)
        ELSE coalesce(said.author_role IN ('OWNER', 'MEMBER', 'COLLABORATOR', 'internal'), false)
    END AS is_author_allowed,                             -- by `authors`; without them, by the service's word for members
    said.is_own,
    said.is_bot,
    said.is_latest,
    said.is_deleted,
    said.is_actionable,
    CASE WHEN answered.command_key IS NOT NULL THEN 'answered' ELSE 'seen' END AS status, -- seen or answered
    answered.answered_by,
    said.url,
    said.created_at,
    said.updated_at,
    said.seen_at
FROM said
LEFT JOIN answered ON answered.command_key = said.command_key
WHERE said.later = 1
