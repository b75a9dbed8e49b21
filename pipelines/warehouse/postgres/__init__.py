"""A Postgres server, shared by many runners."""
