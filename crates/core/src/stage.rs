//! The steps of the pipeline, one file a step, in the order in which a call takes them:
//! [`authenticate`], [`admit`], [`resolve`], [`validate`], [`authorize`], [`approve`], [`reserve`],
//! [`execute`], [`check`], [`deliver`], [`settle`].
//!
//! Each file defines the evidence that its step leaves behind. Evidence has private fields, one
//! constructor, no `Clone` and is consumed by the next step. Only `pipeline.rs` calls the steps: they
//! are public so that compile-fail tests can prove that no step is skipped, but the first of them needs
//! an [`Admission`](admit::Admission), which only a pipeline has.

pub mod admit;
pub mod approve;
pub mod authenticate;
pub mod authorize;
pub mod check;
pub mod deliver;
pub mod execute;
pub mod reserve;
pub mod resolve;
mod round;
pub mod settle;
pub mod validate;
