"""Mutation testing: small errors in the source, one by one, to see whether a test notices (``./run mutate``).

Why not mutmut or cosmic-ray: they change the working tree or all of a package, and know no seeded samples, no own and
wider tests, and no judgements that a second run keeps.
"""
