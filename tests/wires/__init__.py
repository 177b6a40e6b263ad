"""Support for the wire formats: for each an independent judge, a writer of sound histories, damage, sizes.

Written from the rules of the providers alone. Nothing of backcut is imported.
"""
