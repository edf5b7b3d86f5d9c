"""The embedded API server: enough of kube-apiserver for this project's components, for `kubectl`, and for a
fleet without a cluster.

    http/        TLS listener, request grammar, handlers, discovery, tables
    auth/        who asks, and may they
    registry/    which kinds are served: built-in ones as a table, others from CustomResourceDefinitions
    schema/      structural schemas compiled to functions: prune, default, validate
    strategies/  what is particular to a kind
    writes/      create, update, patch, delete, collection of garbage
    watch/       who hears of which change
    store/       revisions in SQLite: one writer thread, group commit

A request is read on the event loop, decided on plain values, and committed by the writer thread; watchers
hear of a change before the writer's client does, and both only after it is on disk.
"""
