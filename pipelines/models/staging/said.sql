-- Everything said, on every surface of every source: one row per version of an utterance.
-- key: event_key
-- made: once a build

SELECT * FROM staging.github_openers
UNION ALL SELECT * FROM staging.github_issue_comments
UNION ALL SELECT * FROM staging.github_review_comments
UNION ALL SELECT * FROM staging.github_reviews
UNION ALL SELECT * FROM staging.gitlab_openers
UNION ALL SELECT * FROM staging.gitlab_notes
UNION ALL SELECT * FROM staging.bluesky_posts
