//! Clients of the four earlier revisions, over both transports.

mod client;
mod forms;
mod matrix;
mod sessions;
mod streams;

#[path = "../../examples/fixture/server.rs"]
mod server;
