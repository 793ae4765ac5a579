"""The benchmark `engine`: the reconcile loop beside controller-runtime, kopf and a bare client."""
