-- Which discussions on GitLab can be resolved, and are: one row per thread that replies can resolve.
-- key: thread_id

SELECT
    parent_key || ':' || id AS thread_id,
    is_resolvable,
    is_resolved,
    first_note_at,
    last_note_at
FROM gitlab.threads__discussions
WHERE NOT is_individual
