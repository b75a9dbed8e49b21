"""The story on GitLab."""
