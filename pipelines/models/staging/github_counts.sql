-- GitHub's counts of conversation comments against ours: one row per issue or pull request.
-- key: parent_key

WITH held AS (
    SELECT c.parent_key, count(DISTINCT c.id) AS held_count
    FROM github.issue_comments AS c
    LEFT JOIN github.deletions AS d ON d.kind = 'issue_comment' AND d.id = c.id AND d.is_deleted
    WHERE d.id IS NULL
    GROUP BY c.parent_key
),

let_be AS (                                               -- comments that nobody will ever read, and never could
    SELECT q.parent_key, count(*) AS let_be_count
    FROM ops.quarantine AS q
    LEFT JOIN github.issue_comments AS c ON CAST(c.id AS VARCHAR) = split_part(q.key, ':', 3)
    WHERE q.source = 'github' AND q.surface = 'issue_comments' AND c.id IS NULL
        AND q.resolved_at IS NULL AND q.let_be_at IS NOT NULL
    GROUP BY q.parent_key
)

SELECT
    i.parent_key,
    'github' AS source,
    i.scope,
    coalesce(repo.repo, i.repo) AS scope_name,
    i.number AS parent_number,
    i.comment_count AS remote_count,
    coalesce(held.held_count, 0) AS held_count,
    coalesce(let_be.let_be_count, 0) AS let_be_count,
    checked.checked_at,
    checked.listed_count = coalesce(held.held_count, 0) AS is_all_that_is_listed
FROM github.issues AS i
LEFT JOIN held ON held.parent_key = i.parent_key
LEFT JOIN let_be ON let_be.parent_key = i.parent_key
LEFT JOIN github.repositories AS repo ON repo.scope = i.scope
LEFT JOIN github.thread_checks AS checked ON checked.parent_key = i.parent_key
LEFT JOIN github.deletions AS d ON d.kind IN ('issue', 'pull_request') AND d.id = i.id AND d.is_deleted
WHERE d.id IS NULL
