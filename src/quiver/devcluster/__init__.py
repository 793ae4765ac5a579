"""A real local Kubernetes, made of the real parts, from one command.

One dev cluster is one supervisor process and a state directory. With a node, the supervisor is
process 1 of its own PID, mount and network namespaces: killing it ends every process, mount,
bridge and rule of the cluster, whatever state the cluster was in. What outlives the namespaces
(the veth pair's host end, one nft table for outgoing traffic, cgroups, loop devices) carries the
cluster's name and is removed by `down` and by the next `up`.
"""
