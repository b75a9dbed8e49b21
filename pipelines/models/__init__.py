"""SQL models (path = schema.table) and what builds them."""
