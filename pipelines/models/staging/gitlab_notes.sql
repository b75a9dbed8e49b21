-- Notes on merge requests and issues on GitLab, also those pinned to a diff: one row per version.
-- key: event_key

WITH parents AS (
    SELECT parent_key, state, url, seen_at FROM gitlab.merge_requests
    UNION ALL SELECT parent_key, state, url, seen_at FROM gitlab.issues
)

SELECT
    v.event_key,
    'gitlab' AS source,
    CASE WHEN v.is_diff_note THEN 'diff_note' ELSE 'note' END AS kind,
    v.scope,
    coalesce(project.project, v.project) AS scope_name,
    CAST(v.id AS VARCHAR) AS id,
    v.version,
    v.parent_key,
    v.parent_kind,
    v.number AS parent_number,
    v.parent_key || ':' || CASE WHEN coalesce(thread.is_individual, v.is_individual) THEN 'conversation' ELSE v.discussion_id END AS thread_id,
    CAST(v.in_reply_to AS VARCHAR) AS in_reply_to,
    v.author,
    CASE WHEN v.is_internal THEN 'internal' END AS author_role,
    regexp_matches(lower(v.author), '(^|[-_])bot([-_]|$)|^service_account_') AS is_bot,
    v.is_system,
    n.id IS NULL OR d.parent_key IS NOT NULL AS is_deleted,   -- absent from the thread as it was last read whole
    p.state = 'opened' AS is_parent_open,
    coalesce(n.version = v.version, false) AS is_latest_told,
    false AS is_unlisted,
    CAST(NULL AS VARCHAR) AS title,
    v.body,
    p.url || '#note_' || CAST(v.id AS VARCHAR) AS url,
    v.created_at,
    v.updated_at,
    v.seen_at
FROM gitlab.note_versions AS v
INNER JOIN parents AS p ON p.parent_key = v.parent_key    -- a load that broke off may have left notes of what is no more
LEFT JOIN gitlab.projects AS project ON project.scope = v.scope
LEFT JOIN gitlab.threads__discussions__notes AS n ON n.parent_key = v.parent_key AND n.id = v.id
LEFT JOIN gitlab.threads__discussions AS thread ON thread.parent_key = v.parent_key AND thread.id = v.discussion_id
LEFT JOIN gitlab.deletions AS d ON d.parent_key = v.parent_key AND d.is_deleted AND d.noticed_at >= p.seen_at
