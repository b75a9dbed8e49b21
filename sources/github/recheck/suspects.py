"""What does not add up on GitHub: deletions, pull requests that a list missed, reviews.

A deleted comment vanishes silently. What remains is a count (`comments` of an issue) or its absence from a complete
list. So the landed tables themselves say what is suspect, and a suspect stays one until its thread was read again
whole: nothing to remember between runs, nothing to forget. A thread whose count disagrees for good (GitHub counts
what it hides) is asked once per disagreement and time of its issue: the same numbers at a later time are another
disagreement, e.g. a comment that was said after the count was read, and deleted since; and so is it when they agree
again, e.g. because one was deleted that is told, and the other is still hidden. A count of the very second in which
its issue changed is no proof either: what was said later in that second moved no time. So it is read again before its
list, and until that second is over nothing is remembered of it.
"""

__all__ = ["SUSPECTS"]

# `swept` and `sighted` hold what this run's sweep read to the end: (surface, scope) and (surface, scope, id); where a
# pull request is followed by itself, its scope is `scope/number`. What lies in quarantine (`unread`) is asked for by
# its own rule, and counts as known: else every run would read its thread again.
SUSPECTS = """
WITH deleted AS (SELECT kind, id, noticed_at FROM github.deletions WHERE is_deleted),
marked AS (
    SELECT * FROM github.deletions WHERE kind IN ('issue', 'pull_request') AND (is_deleted OR is_missing)
),
told AS (
    SELECT parent_key, id FROM github.issue_comments
    UNION SELECT parent_key, id FROM unread WHERE surface = 'issue_comments' AND id IS NOT NULL
),
held AS (
    SELECT c.parent_key, count(DISTINCT c.id) FILTER (WHERE d.id IS NULL) AS live,
           list(DISTINCT c.id) FILTER (WHERE d.id IS NULL) AS ids,
           list(DISTINCT c.id) FILTER (WHERE d.id IS NOT NULL) AS marked
    FROM told AS c LEFT JOIN deleted AS d ON d.kind = 'issue_comment' AND d.id = c.id
    GROUP BY c.parent_key
),
known AS (
    SELECT i.* FROM github.issues AS i LEFT JOIN marked AS m ON m.id = i.id WHERE m.id IS NULL
),
unseen AS (
    SELECT i.* FROM known AS i JOIN swept AS s ON s.surface = 'issues' AND s.scope = i.scope
    LEFT JOIN sighted AS g ON g.surface = 'issues' AND g.scope = i.scope AND g.id = i.id
    WHERE g.id IS NULL AND ($floor IS NULL OR i.updated_at >= $floor)
),
orphaned AS (
    SELECT c.scope, c.number, list(DISTINCT c.id) AS ids, bool_or(x.is_missing) AS is_missing,
           bool_and(coalesce(x.is_deleted, false)) AS is_deleted, max(x.noticed_in_run) AS noticed_in_run
    FROM github.issue_comments AS c LEFT JOIN github.issues AS i ON i.parent_key = c.parent_key
    LEFT JOIN github.deletions AS x ON x.kind = 'issue_comment' AND x.id = c.id
    WHERE i.id IS NULL AND NOT EXISTS (SELECT 1 FROM github.openers AS o WHERE o.parent_key = c.parent_key)
          AND NOT EXISTS (SELECT 1 FROM unread AS u WHERE u.surface = 'issues' AND u.parent_key = c.parent_key)
    GROUP BY c.scope, c.number
),
threads_due AS (
    SELECT p.scope, p.number, row_number() OVER (PARTITION BY p.scope ORDER BY p.number DESC) - 1 AS nth
    FROM github.pull_requests AS p JOIN known AS k ON k.parent_key = p.parent_key
    LEFT JOIN github.review_threads AS r ON r.parent_key = p.parent_key
    WHERE CAST($reads_threads AS BOOLEAN) AND (CAST($full AS BOOLEAN) OR r.parent_key IS NULL
          OR r.read_for_updated_at <> p.updated_at OR NOT r.is_settled
          OR (p.state = 'open' AND EXISTS (SELECT 1 FROM swept AS s WHERE s.surface = 'issues'
              AND s.scope IN (p.scope, p.scope || '/' || CAST(p.number AS VARCHAR)))))
          AND p.parent_key NOT IN (SELECT parent_key FROM unseen)
),
suspects AS (
SELECT 'comments' AS task, i.scope, i.number, i.id, i.is_pull_request, i.comment_count AS remote_count, h.ids, h.marked,
       i.updated_at, i.seen_at AS held_at
FROM known AS i LEFT JOIN held AS h ON h.parent_key = i.parent_key
LEFT JOIN github.thread_checks AS k ON k.parent_key = i.parent_key
WHERE CASE WHEN i.comment_count = coalesce(h.live, 0) THEN k.remote_count <> k.listed_count
      ELSE k.parent_key IS NULL OR k.remote_count <> i.comment_count OR k.listed_count <> coalesce(h.live, 0)
           OR k.updated_at IS DISTINCT FROM i.updated_at END
      AND ($floor IS NULL OR i.created_at >= $floor)
UNION ALL
SELECT 'pull_request', i.scope, i.number, i.id, true, 0, NULL, NULL, NULL, NULL
FROM known AS i LEFT JOIN github.pull_requests AS p ON p.parent_key = i.parent_key
WHERE i.is_pull_request AND (p.id IS NULL OR (p.updated_at < i.updated_at AND p.seen_at < i.seen_at)
      OR p.reviews_read_for IS DISTINCT FROM p.updated_at)
      AND i.parent_key NOT IN (SELECT parent_key FROM unread WHERE surface = 'pull_requests' AND parent_key IS NOT NULL)
UNION ALL
SELECT 'reviews', p.scope, p.number, k.id, true, 0,
       list(DISTINCT r.id) FILTER (WHERE r.id IS NOT NULL AND d.id IS NULL),
       list(DISTINCT r.id) FILTER (WHERE d.id IS NOT NULL), NULL, NULL
FROM github.pull_requests AS p JOIN known AS k ON k.parent_key = p.parent_key
JOIN swept AS s ON s.surface = 'issues' AND s.scope IN (p.scope, p.scope || '/' || CAST(p.number AS VARCHAR))
LEFT JOIN github.reviews AS r ON r.parent_key = p.parent_key
LEFT JOIN deleted AS d ON d.kind = 'review' AND d.id = r.id
WHERE p.state = 'open' GROUP BY p.scope, p.number, k.id
UNION ALL
SELECT 'issue', scope, number, id, is_pull_request, 0, NULL, NULL, NULL, seen_at FROM unseen
UNION ALL
SELECT 'review_comments', c.scope, c.number, 0, true, 0, list(DISTINCT c.id), NULL, NULL, max(a.seen_at)
FROM github.review_comments AS c
LEFT JOIN github.review_comment_anchors AS a ON a.id = c.id
JOIN swept AS s ON s.surface = 'review_comments' AND s.scope IN (c.scope, c.scope || '/' || CAST(c.number AS VARCHAR))
LEFT JOIN sighted AS g ON g.surface = 'review_comments' AND g.scope = s.scope AND g.id = c.id
LEFT JOIN deleted AS d ON d.kind = 'review_comment' AND d.id = c.id
WHERE g.id IS NULL AND d.id IS NULL AND ($floor IS NULL OR c.updated_at >= $floor)
      AND c.parent_key NOT IN (SELECT parent_key FROM unseen) GROUP BY c.scope, c.number
UNION ALL
SELECT 'orphans', scope, number, list_min(ids), false, 0, ids, NULL, NULL, NULL FROM orphaned
WHERE NOT is_deleted OR noticed_in_run >= (SELECT since FROM this_run)
UNION ALL
SELECT DISTINCT 'issue', o.scope, o.number, o.id, o.kind = 'pull_request', 0, NULL, NULL, NULL, NULL
FROM github.openers AS o LEFT JOIN github.issues AS i ON i.parent_key = o.parent_key
LEFT JOIN deleted AS d ON d.kind = o.kind AND d.id = o.id
WHERE i.id IS NULL AND d.id IS NULL
      AND NOT EXISTS (SELECT 1 FROM unread AS u WHERE u.surface = 'issues' AND u.parent_key = o.parent_key)
UNION ALL
SELECT CASE WHEN i.seen_at > m.noticed_at THEN 'back' ELSE 'issue' END, i.scope, i.number, i.id, i.is_pull_request, 0,
       NULL, NULL, NULL, i.seen_at
FROM github.issues AS i JOIN marked AS m ON m.id = i.id
WHERE i.seen_at > m.noticed_at OR NOT m.is_deleted OR m.noticed_in_run >= (SELECT since FROM this_run)
UNION ALL
SELECT 'issue', i.scope, i.number, i.id, true, 0, NULL, NULL, NULL, i.seen_at
FROM known AS i JOIN swept AS s ON s.surface = 'absent' AND s.scope = i.scope || '/' || CAST(i.number AS VARCHAR)
UNION ALL
SELECT 'review_comments', c.scope, c.number, 0, true, 0, NULL, list(DISTINCT c.id), NULL, max(a.seen_at)
FROM github.review_comments AS c JOIN deleted AS d ON d.kind = 'review_comment' AND d.id = c.id
JOIN github.review_comment_anchors AS a ON a.id = c.id WHERE a.seen_at > d.noticed_at GROUP BY c.scope, c.number
UNION ALL
SELECT 'threads', scope, max(number), 0, true, 0, list(number), NULL, NULL, NULL
FROM threads_due GROUP BY scope, nth // $threads_at_once
)
SELECT s.*, CASE WHEN m.is_deleted OR o.is_deleted THEN 'deleted'
                 WHEN m.is_missing OR o.is_missing THEN 'missing' END AS was,
       CAST($reads_threads AS BOOLEAN) AS reads_threads
FROM suspects AS s
LEFT JOIN marked AS m ON s.task IN ('issue', 'back') AND m.id = s.id
LEFT JOIN orphaned AS o ON s.task = 'orphans' AND o.scope = s.scope AND o.number = s.number
"""
