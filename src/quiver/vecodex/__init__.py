"""VecodexSet: a coordinator, writers and searchers behind one ingress."""
