//! Digests over canonical JSON.
