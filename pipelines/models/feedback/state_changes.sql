-- Closed, reopened, merged: one row per change of a state, where the service tells of them (GitLab's events).
-- key: parent_key, id
-- not null: state, created_at

SELECT
    id,                                                   -- the service's own
    parent_key,
    state,                                                -- closed, reopened, merged
    author,                                               -- who changed it
    created_at                                            -- when
FROM staging.gitlab_state_changes
