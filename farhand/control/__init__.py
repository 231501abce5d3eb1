"""Local control: efforts and references become commands of a plant; paths of references."""
