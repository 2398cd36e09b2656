"""Python bindings of weft, the software of a cluster without switches.

weft.ripc sends messages between services named by 64-bit ids; weft.sst shares
tables of state between the members of a group; weft.program sends requests to the
services of a cluster; weft.store keeps values under keys in a cluster's store."""
