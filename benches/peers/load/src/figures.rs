//! Medians, percentiles and the row of a report.

use serde::Serialize;

/// What one round of one subject gave.
#[derive(Clone, Copy)]
pub struct Sample {
    pub cpu_us: f64,
    pub calls_per_s: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
}

/// What valgrind counted for one call.
#[derive(Clone, Copy, Serialize)]
pub struct Counts {
    pub instructions: u64,
    pub heap_blocks: f64,
    pub heap_bytes: u64,
}

/// One line of the report.
#[derive(Serialize)]
pub struct Row {
    pub case: &'static str,
    pub subject: &'static str,
    pub calls: usize,
    pub cpu_us_median: f64,
    pub cpu_us_min: f64,
    pub cpu_us_max: f64,
    pub calls_per_s_median: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub rss_kb: u64,
    pub instructions: Option<u64>,
    pub heap_blocks: Option<f64>,
    pub heap_bytes: Option<u64>,
    /// CPU per call against the floor of the same case.
    pub ratio_to_raw: Option<f64>,
}

impl Row {
    /// Sums up the rounds of one subject.
    pub fn new(
        case: &'static str,
        subject: &'static str,
        calls: usize,
        samples: &[Sample],
        rss_kb: u64,
    ) -> Self {
        let cpu = |s: &Sample| s.cpu_us;
        let cpus: Vec<f64> = samples.iter().map(cpu).collect();
        Self {
            case,
            subject,
            calls: calls * samples.len(),
            cpu_us_median: round(median(&cpus)),
            cpu_us_min: round(cpus.iter().copied().fold(f64::INFINITY, f64::min)),
            cpu_us_max: round(cpus.iter().copied().fold(0.0, f64::max)),
            calls_per_s_median: median(&samples.iter().map(|s| s.calls_per_s).collect::<Vec<_>>()).round(),
            p50_us: some_median(samples, |s| s.p50_us),
            p99_us: some_median(samples, |s| s.p99_us),
            rss_kb,
            instructions: None,
            heap_blocks: None,
            heap_bytes: None,
            ratio_to_raw: None,
        }
    }

    /// Adds what valgrind counted.
    pub fn counted(&mut self, counts: Counts) {
        self.instructions = Some(counts.instructions);
        self.heap_blocks = Some(counts.heap_blocks);
        self.heap_bytes = Some(counts.heap_bytes);
    }
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

fn some_median(samples: &[Sample], part: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = samples.iter().filter_map(part).collect();
    if values.is_empty() { None } else { Some(round(median(&values))) }
}

/// The value below which `share` of the latencies lie, in microseconds.
pub fn percentile_us(sorted: &[u64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).map(|&nanoseconds| nanoseconds as f64 / 1000.0)
}

/// Two decimals are more than the noise leaves.
pub fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
