"""What a person reads after a run: HTML pages and terminal summaries."""
