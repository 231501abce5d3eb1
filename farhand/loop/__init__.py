"""The loop: stations that sense and act, bridges between them, and the session that ticks both on one clock."""
