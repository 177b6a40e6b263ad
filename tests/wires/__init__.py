"""Support for the formats of the providers: for each an independent judge, a writer of sound histories, damage, sizes.

Written from the rules of the providers alone. Nothing of backcut is imported.
"""
