"""Link: packets, the channels that carry them, and the endpoints that fill and read them."""
