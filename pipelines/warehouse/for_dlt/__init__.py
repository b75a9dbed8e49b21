"""What dlt's own tools find of Earshot: its pipelines, and where the warehouse lies."""
