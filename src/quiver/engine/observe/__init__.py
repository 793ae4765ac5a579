"""What can be seen from outside: metrics, probes, logs, traces."""
