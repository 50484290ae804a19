//! The standard streams: one message a line.
