"""Tensors: what they have, views, values, and how their memory comes from other libraries and goes to them."""
