-- When merge requests and issues on GitLab were closed, reopened and merged: one row per event.
-- key: parent_key, id

SELECT
    CAST(state.id AS VARCHAR) AS id,
    state.parent_key,
    state.state,
    state.author,
    state.created_at
FROM gitlab.resource_events__states AS state
WHERE state.state IS NOT NULL
