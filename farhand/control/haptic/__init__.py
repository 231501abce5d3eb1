"""What a hand feels: forces rendered at a haptic device or a handle."""
