"""For the whole repository: pytest wants this plugin, which tests/plugin uses, named here."""

pytest_plugins = ["pytester"]
