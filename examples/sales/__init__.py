"""A small shop that puts items on sale and takes them off again, at the dates its staff choose."""
