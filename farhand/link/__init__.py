"""What crosses between the two sides: packets, the channels that carry them, the endpoints that fill and read them."""
