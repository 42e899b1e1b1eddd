"""How the package calls the library: finding it, its functions, arguments, callbacks, and what it keeps of Python."""
