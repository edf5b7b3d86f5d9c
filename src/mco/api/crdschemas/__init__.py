"""The schemas of our kinds, one file each; gated fields are all there (spec/node.md 1)."""
