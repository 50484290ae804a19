//! The compatibility profile of the four earlier revisions.
