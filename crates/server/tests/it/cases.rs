//! Failures that people reported in public, each with its whole kind of fault, over real HTTP
//! connections and as a real child process.

#![expect(clippy::unwrap_used, reason = "what the tests share may stop a test as a test may")]

mod case_02;
mod case_03;
mod case_04;
mod case_05;
mod case_06;
mod case_07;
mod case_08;
mod case_09;
mod case_10;
mod case_13;
mod case_14;
mod case_15;
mod case_18;
mod case_22;
mod case_23;
mod case_25;
mod case_27;
mod case_28;
mod fixture;
mod harness;
