"""What each service says, and how far we have read. Imports nothing from pipelines/."""
