"""A humanoid as a whole: what its joints must give for a motion, where its weight goes, a step with real contact."""
