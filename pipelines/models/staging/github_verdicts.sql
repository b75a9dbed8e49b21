-- What GitHub's reviews decide: one row per version of a review that somebody gave.
-- key: event_key

SELECT
    event_key,
    lower(state) AS verdict,
    body <> '' AS has_words,
    commit_id AS commit_sha
FROM github.reviews
WHERE state <> 'COMMENTED' OR body <> ''                  -- the others are GitHub's own, to hold comments in the diff
