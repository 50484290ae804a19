//! One request to a server as a client would send it, over plain HTTP.
//!
//! It is no client library: it sends the one call of the demonstration and reads the answer, within a
//! bound and a deadline.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The largest answer that is read.
const ANSWER_MAX: usize = 4 << 20;
/// How long the whole exchange may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// A request of the latest revision.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The headers that the protocol asks for, as sent.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body, as sent.
    pub(crate) body: String,
}

/// A call of one tool with the metadata that every request carries.
pub(crate) fn tool_call(name: &str, arguments: &str) -> Exchange {
    request("tools/call", name, &format!(r#""name":"{name}","arguments":{arguments}"#))
}

/// The reading of one resource.
pub(crate) fn resource_read(uri: &str) -> Exchange {
    request("resources/read", uri, &format!(r#""uri":"{uri}""#))
}

fn request(method: &str, name: &str, params: &str) -> Exchange {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"callgate-demo","version":"{}"}}}}"#,
        env!("CARGO_PKG_VERSION")
    );
    Exchange {
        headers: vec![
            ("content-type", "application/json".into()),
            ("accept", "application/json, text/event-stream".into()),
            ("mcp-protocol-version", "2026-07-28".into()),
            ("mcp-method", method.into()),
            ("mcp-name", name.into()),
        ],
        body: format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},"_meta":{meta}}}}}"#
        ),
    }
}

/// Sends a request and reads the answer: its status and its body.
pub(crate) async fn send(
    address: SocketAddr,
    path: &str,
    exchange: &Exchange,
) -> Result<(u16, String), String> {
    tokio::time::timeout(DEADLINE, exchange_once(address, path, exchange))
        .await
        .map_err(|_| "the server did not answer in ten seconds".to_owned())?
}

async fn exchange_once(
    address: SocketAddr,
    path: &str,
    exchange: &Exchange,
) -> Result<(u16, String), String> {
    let stream =
        TcpStream::connect(address).await.map_err(|error| format!("cannot connect to {address}: {error}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let mut request = Request::post(path).header("host", address.to_string());
    for (name, value) in &exchange.headers {
        request = request.header(*name, value);
    }
    let request =
        request.body(Full::new(Bytes::from(exchange.body.clone()))).map_err(|error| error.to_string())?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), ANSWER_MAX)
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        let body = String::from_utf8(body.to_bytes().to_vec()).map_err(|error| error.to_string())?;
        Ok((status, body))
    };
    // The connection makes progress only while it is polled.
    tokio::pin!(answer, connection);
    tokio::select! {
        answer = &mut answer => answer,
        closed = &mut connection => match closed {
            Ok(()) => answer.await,
            Err(error) => Err(error.to_string()),
        },
    }
}
