"""What five studies measured, as data with its sources, and the comparison with our records."""
