"""What five studies measured, as data with its sources, and what our records say to it."""
