"""What is read of a repository, one file a surface: its list, its tables, its rows, and how it is walked."""
