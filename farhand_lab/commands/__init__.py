"""The laboratory's commands, which ``farhand`` finds by entry point; light to import."""
