//! The server as its clients and its authors meet it.

mod http;
mod stdio;
