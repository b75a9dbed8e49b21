-- Issues and pull requests on GitHub as they stand now: one row per issue or pull request.
-- key: parent_key

WITH reviewers AS (
    SELECT parent_key, unnest(json_extract_string(requested_reviewers, '$[*]')) AS login FROM github.pull_requests
    UNION SELECT parent_key, author AS login FROM github.reviews
),

reviewed AS (
    SELECT r.parent_key, list(r.login ORDER BY r.login) AS reviewers
    FROM reviewers AS r
    INNER JOIN github.issues AS i ON i.parent_key = r.parent_key
    WHERE r.login <> i.author                             -- who answers a review is no reviewer of the own work
    GROUP BY r.parent_key
)

SELECT
    i.parent_key,
    'github' AS source,
    CASE WHEN i.is_pull_request THEN 'pull_request' ELSE 'issue' END AS kind,
    i.scope,
    coalesce(repo.repo, i.repo) AS scope_name,
    i.number,
    i.title,
    i.state,
    coalesce(pull.is_draft, false) AS is_draft,
    i.author,
    coalesce(json_extract_string(i.assignees, '$[*]'), []) AS assignees,
    coalesce(reviewed.reviewers, []) AS reviewers,        -- asked for now, or having reviewed
    coalesce(json_extract_string(i.labels, '$[*]'), []) AS labels,
    i.milestone,
    pull.head_ref AS source_branch,
    pull.base_ref AS target_branch,
    pull.head_sha,
    CAST(NULL AS VARCHAR) AS merge_status,
    CAST(NULL AS VARCHAR) AS merged_by,
    pull.merged_at,
    i.closed_at,
    i.created_at,
    i.updated_at,
    i.url
FROM github.issues AS i
LEFT JOIN github.pull_requests AS pull ON pull.parent_key = i.parent_key
LEFT JOIN reviewed ON reviewed.parent_key = i.parent_key
LEFT JOIN github.repositories AS repo ON repo.scope = i.scope
LEFT JOIN github.deletions AS d ON d.kind IN ('issue', 'pull_request') AND d.id = i.id AND d.is_deleted
WHERE d.id IS NULL
