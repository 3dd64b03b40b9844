"""Records and verdicts become text; nothing here prints."""
