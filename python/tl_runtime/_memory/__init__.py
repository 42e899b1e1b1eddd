"""Memory besides tensors: scopes, objects and their types, limits, pools, and NumPy's allocator."""
