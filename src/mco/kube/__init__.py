"""The asynchronous Kubernetes client, and what controllers are built from.

From the bottom up: `requests` and `watch` are pure; `http` carries bytes; `client` gives typed objects;
`informer` keeps a cache that follows the server; `workqueue` and `reconcile` turn its changes into work;
`events` and `lease` report. It knows the API's mechanics and no policy of ours.
"""
