//! `callgate serve`: the tools of a configuration, over stdio or HTTP, until told to end.

use std::path::Path;
use std::time::Duration;

use callgate_gateway::{Gate, Reloader};
use callgate_server::{Server, Shutdown};
use tokio::runtime::Runtime;

use super::check;
use crate::args::Serve;
use crate::exit::Failure;
use crate::print::warn_line;

/// How long tasks that are left may take to end.
const END: Duration = Duration::from_secs(1);
/// How long the records of calls that ended may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

pub(crate) fn run(serve: &Serve) -> Result<(), Failure> {
    let runtime = runtime()?;
    let gate = {
        let _guard = runtime.enter();
        load(&serve.config)?
    };
    let trail = gate.trail();
    let served = serve_gate(serve, gate, &runtime);
    // Calls that were given up write their records while the runtime ends.
    runtime.shutdown_timeout(END);
    if trail.is_some_and(|trail| !trail.flush(FLUSH)) {
        warn_line!("error: the audit trail was not written to its end in time");
    }
    served
}

fn serve_gate(serve: &Serve, gate: Gate, runtime: &Runtime) -> Result<(), Failure> {
    let _guard = runtime.enter();
    if serve.listen.is_none() {
        gate.check_stdio().map_err(|error| Failure::Serve(error.to_string()))?;
    }
    let (options, limits) = (gate.http_options(), gate.stdio_limits());
    let (server, reloader) = gate.build().map_err(|error| Failure::Serve(error.to_string()))?;
    // Held until the end: dropping it stops the watch over the files.
    let _watching = reloader.watch().map_err(|error| Failure::Serve(error.to_string()))?;
    runtime.block_on(async {
        match serve.listen {
            None => {
                let shutdown = Shutdown::on_signal().map_err(|error| Failure::Serve(error.to_string()))?;
                let served = server.serve_stdio_with(limits, shutdown).await;
                served.map_err(|error| Failure::Serve(error.to_string()))
            }
            Some(address) => {
                let shutdown = Shutdown::on_signal().map_err(|error| Failure::Serve(error.to_string()))?;
                let path = options.path.clone();
                let server = server
                    .bind_http(address, options, shutdown)
                    .await
                    .map_err(|error| Failure::Serve(error.to_string()))?;
                let address = server.local_addr().map_err(|error| Failure::Serve(error.to_string()))?;
                warn_line!("listening on http://{address}{path}");
                server.run().await;
                Ok(())
            }
        }
    })
}

/// Loads a configuration and builds its server; shows what is wrong if that fails.
pub(super) fn open(path: &Path) -> Result<(Server, Reloader), Failure> {
    load(path)?.build().map_err(|error| Failure::Serve(error.to_string()))
}

fn load(path: &Path) -> Result<Gate, Failure> {
    Gate::from_file(path).map_err(|report| {
        check::show(&report);
        Failure::Configuration
    })
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    Runtime::new().map_err(|error| Failure::Serve(format!("no runtime could be made: {error}")))
}
