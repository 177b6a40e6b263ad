"""Histories of every wire format, and judges of them that know nothing of backcut: one module a format."""
