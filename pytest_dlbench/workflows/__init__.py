"""The use cases: benchmark a case, gate it against a baseline, compare two sides, calibrate, bisect, profile."""
