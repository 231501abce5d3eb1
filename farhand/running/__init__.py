"""Running a rig as a program: headless or on the wall clock, with its page, its recording, or as one side of two."""
