"""The cases, one module per subject."""
