-- Issues and pull requests on GitHub as they stand now: one row per issue or pull request.
-- key: parent_key

WITH reviewers AS (
    SELECT parent_key, login FROM github.pull_requests__requested_reviewers
    UNION SELECT parent_key, author AS login FROM github.reviews
),

reviewed AS (
    SELECT r.parent_key, list(r.login ORDER BY r.login) AS reviewers
    FROM reviewers AS r
    INNER JOIN github.issues AS i ON i.parent_key = r.parent_key
    WHERE r.login <> i.author                             -- who answers a review is no reviewer of the own work
    GROUP BY r.parent_key
),

named AS (
    SELECT parent_key, 'label' AS part, name FROM github.issues__labels
    UNION ALL SELECT parent_key, 'assignee' AS part, login AS name FROM github.issues__assignees
    UNION ALL SELECT parent_key, 'team' AS part, slug AS name FROM github.pull_requests__requested_teams
),

sets AS (
    SELECT
        parent_key,
        list(name ORDER BY name) FILTER (WHERE part = 'label') AS labels,
        list(name ORDER BY name) FILTER (WHERE part = 'assignee') AS assignees,
        list(name ORDER BY name) FILTER (WHERE part = 'team') AS requested_teams
    FROM named
    GROUP BY parent_key
),

told AS (                                                 -- by what hangs on it, where the rest of it cannot be read
    SELECT parent_key, kind, scope, repo, number, title, author, created_at, updated_at, url, id
    FROM github.openers
    UNION ALL
    SELECT
        c.parent_key, CASE WHEN c.url LIKE '%/pull/%' THEN 'pull_request' ELSE 'issue' END AS kind, c.scope, c.repo,
        c.number, NULL AS title, NULL AS author, c.created_at, c.updated_at, NULL AS url, NULL AS id
    FROM github.issue_comments AS c
    LEFT JOIN github.deletions AS d ON d.kind = 'issue_comment' AND d.id = c.id AND d.is_deleted
    WHERE d.id IS NULL
),

unread AS (
    SELECT
        told.parent_key,
        coalesce(arg_max(told.kind, told.updated_at) FILTER (WHERE told.id IS NOT NULL), max(told.kind)) AS kind,
        any_value(told.scope) AS scope,
        any_value(told.repo) AS repo,
        any_value(told.number) AS number,
        arg_max(told.title, told.updated_at) FILTER (WHERE told.id IS NOT NULL) AS title,
        arg_max(told.author, told.updated_at) FILTER (WHERE told.id IS NOT NULL) AS author,
        max(told.id) AS id,
        min(told.created_at) AS created_at,
        max(told.updated_at) AS updated_at,
        max(told.url) AS url
    FROM told
    LEFT JOIN github.issues AS i ON i.parent_key = told.parent_key
    WHERE i.id IS NULL
    GROUP BY told.parent_key
)

SELECT
    i.parent_key,
    'github' AS source,
    CASE WHEN i.is_pull_request THEN 'pull_request' ELSE 'issue' END AS kind,
    i.scope,
    coalesce(repo.repo, i.repo) AS scope_name,
    i.number,
    i.title,
    CASE                                                  -- as /issues tells it, the moment of merging is optional
        WHEN i.is_pull_request AND pull.merged_at IS NOT NULL THEN 'merged' ELSE i.state
    END AS state,
    coalesce(pull.is_draft, false) AS is_draft,
    i.author,
    coalesce(sets.assignees, []) AS assignees,
    coalesce(reviewed.reviewers, []) AS reviewers,        -- asked for now, or having reviewed
    coalesce(sets.labels, []) AS labels,
    i.milestone,
    pull.head_ref AS source_branch,
    pull.base_ref AS target_branch,
    pull.head_sha,
    CAST(NULL AS VARCHAR) AS merge_status,
    coalesce(                                             -- no list tells; merging closes
        pull.merged_by, CASE WHEN coalesce(pull.state, i.state) = 'merged' THEN i.closed_by END
    ) AS merged_by,
    pull.merged_at,
    i.closed_at,
    i.created_at,
    i.updated_at,
    i.url,
    coalesce(sets.requested_teams, []) AS requested_teams
FROM github.issues AS i
LEFT JOIN github.pull_requests AS pull ON pull.parent_key = i.parent_key
LEFT JOIN sets ON sets.parent_key = i.parent_key
LEFT JOIN reviewed ON reviewed.parent_key = i.parent_key
LEFT JOIN github.repositories AS repo ON repo.scope = i.scope
LEFT JOIN github.deletions AS d ON d.kind IN ('issue', 'pull_request') AND d.id = i.id AND d.is_deleted
WHERE d.id IS NULL
UNION ALL
SELECT
    unread.parent_key,
    'github' AS source,
    unread.kind,
    unread.scope,
    coalesce(repo.repo, unread.repo) AS scope_name,
    unread.number,
    coalesce(unread.title, '(cannot be read)') AS title,
    'open' AS state,                                      -- as far as anybody knows
    false AS is_draft,
    unread.author,
    [] AS assignees,
    [] AS reviewers,
    [] AS labels,
    NULL AS milestone,
    NULL AS source_branch,
    NULL AS target_branch,
    NULL AS head_sha,
    NULL AS merge_status,
    NULL AS merged_by,
    NULL AS merged_at,
    NULL AS closed_at,
    unread.created_at,
    unread.updated_at,
    unread.url,
    [] AS requested_teams
FROM unread
LEFT JOIN github.repositories AS repo ON repo.scope = unread.scope
LEFT JOIN github.deletions AS d ON d.kind IN ('issue', 'pull_request') AND d.id = unread.id AND d.is_deleted
WHERE d.id IS NULL
