"""The reader's commands: they open `published.duckdb` read-only for as long as a question takes, and import no dlt."""
