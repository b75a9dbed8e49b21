-- Merge requests and issues on GitLab as they stand now: one row per merge request or issue.
-- key: parent_key

WITH parents AS (
    SELECT
        parent_key, 'merge_request' AS kind, scope, project, number, title, state, is_draft, author, milestone,
        source_branch, target_branch, head_sha, detailed_merge_status, merge_user, merged_at, closed_at, created_at,
        updated_at, url, seen_at
    FROM gitlab.merge_requests
    UNION ALL
    SELECT
        parent_key, 'issue' AS kind, scope, project, number, title, state, false AS is_draft, author, milestone,
        NULL AS source_branch, NULL AS target_branch, NULL AS head_sha, NULL AS detailed_merge_status,
        NULL AS merge_user, NULL AS merged_at, closed_at, created_at, updated_at, url, seen_at
    FROM gitlab.issues
),

named AS (
    SELECT parent_key, 'label' AS part, name FROM gitlab.merge_requests__labels
    UNION ALL SELECT parent_key, 'label' AS part, name FROM gitlab.issues__labels
    UNION ALL SELECT parent_key, 'assignee' AS part, username AS name FROM gitlab.merge_requests__assignees
    UNION ALL SELECT parent_key, 'assignee' AS part, username AS name FROM gitlab.issues__assignees
    UNION ALL SELECT parent_key, 'reviewer' AS part, username AS name FROM gitlab.merge_requests__reviewers
),

sets AS (
    SELECT
        parent_key,
        list(name ORDER BY name) FILTER (WHERE part = 'label') AS labels,
        list(name ORDER BY name) FILTER (WHERE part = 'assignee') AS assignees,
        list(name ORDER BY name) FILTER (WHERE part = 'reviewer') AS reviewers
    FROM named
    GROUP BY parent_key
)

SELECT
    p.parent_key,
    'gitlab' AS source,
    p.kind,
    p.scope,
    coalesce(project.project, p.project) AS scope_name,
    p.number,
    p.title,
    CASE p.state WHEN 'opened' THEN 'open' ELSE p.state END AS state,
    p.is_draft,
    p.author,
    coalesce(sets.assignees, []) AS assignees,
    coalesce(sets.reviewers, []) AS reviewers,
    coalesce(sets.labels, []) AS labels,
    p.milestone,
    p.source_branch,
    p.target_branch,
    p.head_sha,
    p.detailed_merge_status AS merge_status,
    p.merge_user AS merged_by,
    p.merged_at,
    p.closed_at,
    p.created_at,
    p.updated_at,
    p.url
FROM parents AS p
LEFT JOIN sets ON sets.parent_key = p.parent_key
LEFT JOIN gitlab.projects AS project ON project.scope = p.scope
LEFT JOIN gitlab.deletions AS d ON d.parent_key = p.parent_key AND d.is_deleted AND d.noticed_at >= p.seen_at
WHERE d.parent_key IS NULL
