"""One thin file per controller: observe caches, decide in `render` or `plan`, apply, write status once."""
