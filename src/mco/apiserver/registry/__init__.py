"""Which resources are served: the built-in ones as a table, the others as CustomResourceDefinitions say."""
