//! What the satellite does to a node.
