"""An invented bakery chain with branches in four countries: the world of the example run."""
