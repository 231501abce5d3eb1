"""Parts of the cooperative rig."""
