"""`mco up`: supervises the components and the machines of one instance; the tour, its evidence, clean-up."""
