-- Markers of our own answers, `<!-- earshot:token -->`, where they were seen: one row per marker in an utterance's version.
-- key: event_key, token

SELECT
    mark.token,
    said.event_key,
    said.source,
    said.scope,
    said.scope_name,
    said.parent_key,
    said.parent_kind,
    said.parent_number,
    said.thread_id,
    said.id,
    said.author,
    said.is_own,                                          -- false: another's copy of it
    said.is_latest,
    said.is_deleted,
    answer.event_key AS answers_event_key,                -- what was answered, as far as our outbox knows
    answer.status AS answer_status,                       -- planned, posted, observed, failed; null: another outbox's
    said.url,
    said.created_at,
    said.seen_at
FROM staging.marks AS mark
INNER JOIN feedback.events AS said ON said.event_key = mark.event_key
LEFT JOIN ops.answers AS answer ON answer.token = mark.token
WHERE mark.kind = 'token'
