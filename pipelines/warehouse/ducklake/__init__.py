"""A lake: files beside a catalog on a Postgres server."""
