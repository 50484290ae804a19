//! The cases: what is asked of a server, and how many times.

/// What is asked, whatever the number of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Workload {
    /// One call of `echo` per HTTP request.
    EchoHttp,
    /// Calls of `echo` over stdio, written without waiting for answers.
    EchoStdio,
    /// One row by its key out of SQLite, per HTTP request.
    SqlHttp,
    /// The whole list of 500 tools, per HTTP request.
    ListHttp,
}

/// One line of the report for each subject.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub workload: Workload,
    pub connections: usize,
    /// Requests in one round for a subject of speed 1.
    pub requests: usize,
}

/// All cases, in the order of the report.
pub const CASES: [Case; 6] = [
    Case { name: "echo-http-1", workload: Workload::EchoHttp, connections: 1, requests: 10_000 },
    Case { name: "echo-http-16", workload: Workload::EchoHttp, connections: 16, requests: 30_000 },
    Case { name: "echo-http-64", workload: Workload::EchoHttp, connections: 64, requests: 30_000 },
    Case { name: "echo-stdio-pipelined", workload: Workload::EchoStdio, connections: 1, requests: 200_000 },
    Case { name: "sql-read-http-16", workload: Workload::SqlHttp, connections: 16, requests: 10_000 },
    Case { name: "list-500-http-16", workload: Workload::ListHttp, connections: 16, requests: 10_000 },
];

/// How many tools the list case offers.
pub const LISTED_TOOLS: usize = 500;
