"""Where runs execute: on this machine, or on leased hosts of a cluster. One module for each way; host.py is common."""
