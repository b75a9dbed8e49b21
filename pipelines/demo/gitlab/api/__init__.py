"""What that GitLab answers over HTTP."""
