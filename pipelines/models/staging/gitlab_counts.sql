-- GitLab's counts of user notes against ours: one row per merge request or issue.
-- key: parent_key

WITH held AS (
    SELECT parent_key, count(*) AS held_count
    FROM gitlab.threads__discussions__notes
    WHERE NOT is_system
    GROUP BY parent_key
),

let_be AS (                                               -- notes that nobody will ever read, and never could
    SELECT q.parent_key, count(*) AS let_be_count
    FROM ops.quarantine AS q
    LEFT JOIN gitlab.threads__discussions__notes AS n ON CAST(n.id AS VARCHAR) = split_part(q.key, ':', 3)
    WHERE q.source = 'gitlab' AND q.surface = 'notes' AND n.id IS NULL
        AND q.resolved_at IS NULL AND q.let_be_at IS NOT NULL
    GROUP BY q.parent_key
),

parents AS (
    SELECT parent_key, scope, project, number, user_notes_count, seen_at FROM gitlab.merge_requests
    UNION ALL SELECT parent_key, scope, project, number, user_notes_count, seen_at FROM gitlab.issues
)

SELECT
    p.parent_key,
    'gitlab' AS source,
    p.scope,
    coalesce(project.project, p.project) AS scope_name,
    p.number AS parent_number,
    p.user_notes_count AS remote_count,
    coalesce(held.held_count, 0) AS held_count,
    coalesce(let_be.let_be_count, 0) AS let_be_count,
    t.read_at AS checked_at,
    t.user_notes_count IS NOT DISTINCT FROM p.user_notes_count AS is_all_that_is_listed   -- internal notes depend on the token
FROM parents AS p
LEFT JOIN held ON held.parent_key = p.parent_key
LEFT JOIN let_be ON let_be.parent_key = p.parent_key
LEFT JOIN gitlab.projects AS project ON project.scope = p.scope
LEFT JOIN gitlab.threads AS t ON t.parent_key = p.parent_key
LEFT JOIN gitlab.deletions AS d ON d.parent_key = p.parent_key AND d.is_deleted AND d.noticed_at >= p.seen_at
WHERE d.parent_key IS NULL
