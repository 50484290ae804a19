//! The compatibility profile of the four earlier revisions.

pub(crate) mod http;
