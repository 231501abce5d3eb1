"""What the hazardous-environment rig is assembled from, beside the parts that every rig shares."""
