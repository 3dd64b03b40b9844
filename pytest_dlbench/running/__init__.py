"""One case becomes runs: fresh workers, spoken to over private pipes, timed out, killed, and explained."""
