//! Streamable HTTP as a tower service, and the accept loop that serves it with hyper.
//!
//! A request goes through this module in one direction: doors (`Host`, `Origin`), route, rate of the address, kind, body,
//! then the exchange that decodes and answers it. It must never decide who may do what, and never
//! let anything look at a request before the doors have. No task is spawned for a request: the future of
//! the answer is polled by the response, and later by its body, so that a client that goes away takes it
//! along.

mod activity;
mod address;
mod agreement;
mod body;
mod exchange;
mod head;
mod limits;
mod origin;
mod pages;
mod refusal;
mod response;
mod serve;
mod socket;
mod stream;
mod tls;

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};

use bytes::Bytes;
use callgate_core::port::Transport;
use http::header::ORIGIN;
use http::{Method, Request, StatusCode};
use tokio_util::sync::CancellationToken;

pub use body::Body;
pub use limits::HttpLimits;
pub(crate) use refusal::{answered_response, error_response, event_stream_response, json_response};
pub use response::ResponseFuture;
pub use serve::HttpServer;
pub use tls::{Tls, TlsError, TransportSecurity, Validity};

use crate::endpoint::Endpoint;
use crate::legacy::LegacyLimits;
use crate::legacy::http::Sessions;
use crate::server::Server;
use crate::shutdown::Shutdown;
use activity::{Activity, InFlight};
use address::Addresses;
use head::{Field, Front};
use origin::{Doors, Local, Shut};
use response::Reading;

/// How a server is reached over HTTP.
///
/// # Defaults
/// - `path`: `/mcp`, the path that clients try first.
/// - `hosts`, `origins`: empty. Loopback names and the address that a connection came in on are always
///   allowed; every other name by which clients reach the server has to be listed.
/// - `legacy`: on. The earlier revisions are served on the same path.
/// - `legacy_limits`: [`LegacyLimits::default`].
/// - `security`: plain, which is for addresses of this machine only.
/// - `limits`: [`HttpLimits::default`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The path of the one endpoint.
    pub path: String,
    /// Hosts that clients may name: `name` for any port, or `name:port`.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call and read answers, as `scheme://name[:port]`. Pages of this
    /// machine pass the check too, but a browser lets only listed ones read answers.
    pub origins: Vec<String>,
    /// Whether clients of earlier revisions are served.
    pub legacy: bool,
    /// The bounds of what those clients may hold.
    pub legacy_limits: LegacyLimits,
    /// How bytes on the way are protected.
    pub security: TransportSecurity,
    /// The bounds.
    pub limits: HttpLimits,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: String::from("/mcp"),
            hosts: Vec::new(),
            origins: Vec::new(),
            legacy: true,
            legacy_limits: LegacyLimits::default(),
            security: TransportSecurity::Plain,
            limits: HttpLimits::default(),
        }
    }
}

/// The address that a request came from, as an extension of the request.
///
/// A server other than [`HttpServer`] inserts it, so that callers on this machine are known as such;
/// without it every caller is taken for a remote one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddress(pub SocketAddr);

/// One server over HTTP. Clones share everything.
///
/// # What it decides where the specification leaves a choice
/// - `Host` is checked as well as `Origin`, on every path, before anything else. Loopback names, the
///   address that the connection came in on and the listed hosts pass.
/// - A request is answered by `application/json` unless it has something to say before its result: progress or
///   log messages that the client asked for. A stream ends with the response.
/// - `Accept` may be missing, and may name one kind only. Who takes no events hears no notifications
///   before the result and cannot subscribe; who takes no JSON gets each result as one event. Errors before a
///   method has run are always JSON. Who takes neither gets 406.
/// - A notification is taken without `Mcp-Method`; if the header is there, it must agree.
/// - A message belongs to an earlier revision when it has no metadata of its own and its headers do not name
///   a revision that asks for it.
/// - `Mcp-Session-Id` and `Last-Event-ID` mean nothing on a modern request.
/// - A client that ends the sending half of its connection has gone away. One that has sent another request
///   on the same HTTP/1 connection before the first was answered is noticed to be gone only when the answer is
///   written.
/// - A call that has notified is cancelled when its client leaves the stream unread for too long.
/// - A head that is no HTTP, or longer than the bound, is answered by hyper with 400 or 431 and no body.
/// - Requests of an address that come too often are answered with 429, before their body is read.
/// - `GET /healthz` says that the process lives, behind the same checks.
#[derive(Clone)]
pub struct HttpService {
    shared: Arc<Shared>,
}

/// What all requests of one service share.
struct Shared {
    endpoint: Arc<Endpoint>,
    path: String,
    doors: Doors,
    security: TransportSecurity,
    limits: HttpLimits,
    /// The compatibility profile, where it is served.
    legacy: Option<Arc<Sessions>>,
    shutdown: Shutdown,
    /// Cancelled when what is still running has to be answered with an error.
    expired: CancellationToken,
    /// Bytes of long request bodies in memory.
    buffered: AtomicUsize,
    addresses: Addresses,
}

impl HttpService {
    pub(crate) fn new(endpoint: Arc<Endpoint>, options: HttpOptions, shutdown: Shutdown) -> Self {
        let message = options.limits.message;
        let legacy = options.legacy.then(|| {
            let endpoint = Arc::clone(&endpoint);
            Arc::new(Sessions::new(endpoint, shutdown.clone(), options.legacy_limits, message))
        });
        let shared = Shared {
            endpoint,
            path: options.path,
            doors: Doors::new(&options.hosts, &options.origins),
            security: options.security,
            limits: options.limits,
            legacy,
            shutdown,
            expired: CancellationToken::new(),
            buffered: AtomicUsize::new(0),
            addresses: Addresses::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    fn respond<B: http_body::Body>(&self, request: Request<B>, link: Link<'_>) -> ResponseFuture<B> {
        let doors = &self.shared.doors;
        let origin = if doors.lists_origins() { request.headers().get(ORIGIN) } else { None };
        let page = origin.filter(|origin| doors.is_listed(origin)).cloned();
        self.route(request, link).readable_by(page)
    }

    fn route<B: http_body::Body>(&self, request: Request<B>, link: Link<'_>) -> ResponseFuture<B> {
        let guard = link.activity.map(InFlight::new);
        let (parts, body) = request.into_parts();
        let front = Front::of(&parts.headers);
        let target = parts.uri.authority().map(http::uri::Authority::as_str);
        let shared = &self.shared;
        let answer = |response| ResponseFuture::ready(response, None);
        if let Err(shut) = shared.doors.check(&front, target, link.local) {
            return answer(refuse_entry(shut));
        }
        if parts.uri.path() != shared.path {
            let metadata = || shared.endpoint.published().metadata(parts.uri.path(), &shared.path);
            if parts.method == Method::GET
                && let Some(document) = metadata()
            {
                return answer(refusal::metadata(document));
            }
            return answer(match (parts.uri.path(), &parts.method) {
                ("/healthz", &Method::GET) => {
                    json_response(StatusCode::OK, String::from("{\"status\":\"ok\"}"))
                }
                _ => refusal::invalid(StatusCode::NOT_FOUND, "Invalid request: there is no such path here"),
            });
        }
        let local_caller = link.remote.is_some_and(|remote| remote.ip().to_canonical().is_loopback());
        let only_a_proxy = matches!(shared.security, TransportSecurity::ByProxy);
        // Callers on this machine are not counted, nor is a proxy there or elsewhere: it knows whom it speaks for,
        // and its one address would stand for all of them.
        if let Some(remote) = link.remote.filter(|_| !local_caller && !only_a_proxy)
            && let Err(wait) = shared.addresses.take(&shared.endpoint.published().limits, remote.ip())
        {
            return answer(refusal::too_often(wait));
        }
        // Behind a proxy on this machine every caller looks local and none is.
        let by_proxy = front.is_forwarded || only_a_proxy;
        let transport = if local_caller && !by_proxy { Transport::Loopback } else { Transport::Remote };
        if parts.method != Method::POST {
            let has_session = front.session.is_present();
            if parts.method == Method::OPTIONS
                && let Field::One(origin) = front.origin
                && shared.doors.is_listed(origin)
                && let Some(response) = pages::preflight(&parts.headers)
            {
                return answer(response);
            }
            return match &shared.legacy {
                Some(sessions) if has_session && parts.method == Method::GET => {
                    let sessions = Arc::clone(sessions);
                    let answer = async move { sessions.get(parts.headers, transport).await };
                    ResponseFuture::of_legacy(shared, answer, guard)
                }
                Some(sessions) if has_session && parts.method == Method::DELETE => {
                    let sessions = Arc::clone(sessions);
                    let answer = async move { sessions.delete(parts.headers, transport).await };
                    ResponseFuture::of_legacy(shared, answer, guard)
                }
                _ => answer(refusal::method_not_allowed()),
            };
        }
        if !front.is_json() || !front.is_plain() {
            let message = "Invalid request: the body must be sent as `Content-Type: application/json`, in UTF-8 and without an encoding";
            return answer(refusal::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let accepts = front.accepts;
        if !accepts.json && !accepts.events {
            let message = "Invalid request: `Accept` must name `application/json` and `text/event-stream`";
            return answer(refusal::invalid(StatusCode::NOT_ACCEPTABLE, message));
        }
        let announced = body.size_hint().lower();
        if announced > shared.limits.message.bytes as u64 {
            return answer(refusal::body_too_long());
        }
        ResponseFuture::reading(
            Reading { shared: Arc::clone(shared), headers: parts.headers, transport, accepts, announced },
            body,
            guard,
        )
    }
}

fn refuse_entry(shut: Shut) -> http::Response<Body> {
    let (status, message) = match shut {
        Shut::BadHost => (StatusCode::BAD_REQUEST, "Invalid request: one valid `Host` is required"),
        Shut::ForeignHost => (
            StatusCode::FORBIDDEN,
            "Invalid request: this `Host` is not served here; list it among the allowed hosts if it should be",
        ),
        Shut::ForeignOrigin => (
            StatusCode::FORBIDDEN,
            "Invalid request: this `Origin` may not call here; list it among the allowed origins if it should",
        ),
    };
    refusal::invalid(status, message)
}

impl Server {
    /// This server as a tower service, for [`HttpServer`] or any other server of tower services.
    ///
    /// Whoever serves it on an address that is not of this machine must authenticate callers. Only
    /// [`HttpServer`] watches connections: another server has to bound how long clients may take to
    /// send a request and to read an answer.
    #[must_use]
    pub fn http(&self, options: HttpOptions, shutdown: &Shutdown) -> HttpService {
        HttpService::new(Arc::clone(self.endpoint()), options, shutdown.clone())
    }
}

/// What is known of the connection that a request came in on.
#[derive(Clone, Copy, Default)]
struct Link<'c> {
    local: Option<&'c Local>,
    remote: Option<SocketAddr>,
    activity: Option<&'c Arc<Activity>>,
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture<B>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture<B> {
        let remote = request.extensions().get::<RemoteAddress>().map(|address| address.0);
        self.respond(request, Link { remote, ..Link::default() })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("path", &self.shared.path).finish_non_exhaustive()
    }
}
