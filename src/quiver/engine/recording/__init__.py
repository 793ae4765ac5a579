"""Events on objects: written aside, aggregated, never in the way."""
