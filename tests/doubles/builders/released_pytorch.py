"""planted_pytorch.py in releases: "0.05 from 4" in PLANTED is 5 % more arithmetic in each step, from release 4 on."""

import os

import planted_releases

import planted_pytorch
from planted_pytorch import SUPPORTS, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def versions():
    return dict(planted_pytorch.versions(), **{"planted-releases": planted_releases.VERSION})


class Trainer(planted_pytorch.Trainer):
    @staticmethod
    def planted(_network, _recipe):
        share, first = os.environ["PLANTED"].split(" from ")
        return float(share) if float(planted_releases.VERSION) >= float(first) else 0.0
