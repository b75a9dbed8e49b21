-- What is said now: one row per utterance, in its latest version; deleted ones are left out.
-- key: event_key

SELECT
    event_key,
    source,
    kind,
    scope,
    scope_name,
    id,
    parent_key,
    parent_kind,
    parent_number,
    thread_id,
    in_reply_to,
    author,
    author_role,
    is_bot,
    is_system,
    is_own,
    is_team,
    is_edit,
    is_actionable,
    is_unlisted,
    title,
    body,
    url,
    created_at,
    updated_at,
    seen_at
FROM feedback.events
WHERE is_latest AND NOT is_deleted
