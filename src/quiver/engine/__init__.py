"""The reconcile loop: from a change in a watched object to a finished reconcile."""
