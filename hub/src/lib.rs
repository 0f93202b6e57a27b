//! The reference Fleet Manager.
