"""The DuckDB file and control.sqlite beside it: the default destination, and how what was lost of it comes back."""
