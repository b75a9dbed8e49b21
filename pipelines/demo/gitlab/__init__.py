"""A GitLab that knows the truth."""
