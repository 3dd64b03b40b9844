"""Text that comes with Python, the reference of its language, as letters and spaces."""

import re
from pydoc_data.topics import topics

import torch

LENGTH = 32
SYMBOLS = " abcdefghijklmnopqrstuvwxyz"


def windows():
    """The symbols' numbers in consecutive parts of the text, (windows, LENGTH); every tenth is for the test."""
    text = re.sub("[^a-z]+", " ", " ".join(topics[name] for name in sorted(topics)).lower())
    whole = torch.tensor([SYMBOLS.index(symbol) for symbol in text[: 4000 * LENGTH]]).reshape(-1, LENGTH)
    is_test = torch.arange(len(whole)) % 10 == 0
    return whole[~is_test], whole[is_test]


class Text(torch.utils.data.Dataset):
    """Windows as a causal language model takes them: the labels are the inputs."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return {"input_ids": self.rows[number], "labels": self.rows[number]}
