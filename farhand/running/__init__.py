"""Running a rig as a program: headless, on its page, or as one side of two."""
