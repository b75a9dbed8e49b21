-- Issues that pull requests on GitHub close when they are merged: one row per pull request and issue.
-- key: parent_key, issue_key

SELECT parent_key, issue_key, issue_repo AS issue_scope_name, issue_number, title AS issue_title
FROM github.review_threads__closes
