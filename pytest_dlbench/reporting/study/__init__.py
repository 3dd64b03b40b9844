"""The study: pages and pictures about recorded sessions, made from their journals alone.

Everything in it is computed, so that the same journals give the same bytes.
"""
