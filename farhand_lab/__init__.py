"""The laboratory: reproductions with their harness, mutations, soak test and benchmarks."""
