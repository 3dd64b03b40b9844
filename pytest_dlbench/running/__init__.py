"""One case becomes runs: fresh workers, spoken to over private pipes, timed out, killed, and explained."""

from pytest_dlbench.running.progress import Progress, Silent
from pytest_dlbench.running.series import train_series
from pytest_dlbench.running.training import Plan, recipe_json, train_once

__all__ = ["Plan", "Progress", "Silent", "recipe_json", "train_once", "train_series"]
