//! The server as its clients and its authors meet it.

mod api;
mod cases;
mod http;
mod legacy;
mod stdio;
