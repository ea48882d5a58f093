// Nothing of its own: the translation unit that the tests' precompiled header belongs to.
