"""The ``dlbench`` command: one file per subcommand."""
