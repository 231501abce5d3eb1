"""The loop: stations that sense and act, bridges between them, the session that ticks both."""
