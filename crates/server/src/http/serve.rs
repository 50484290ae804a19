//! The accept loop: connections in, their bounds kept, and a graceful end.
//!
//! It must never accept more connections than the bound, never keep one that does nothing, and never
//! end before the requests that it has accepted are answered or their time is over. The serve functions
//! of the server call it.

use std::fmt;
use std::future::{Future as _, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::task::TaskTracker;

use super::activity::{Activity, Order, Watch};
use super::limits::HttpLimits;
use super::origin::Local;
use super::response::ResponseFuture;
use super::socket::Socket;
use super::tls::{Tls, TransportSecurity};
use super::{HttpService, Link};

/// A service and the address that it is served on.
pub struct HttpServer {
    listener: TcpListener,
    service: HttpService,
}

impl HttpServer {
    /// Binds an address.
    ///
    /// # Errors
    /// What the operating system says.
    pub async fn bind(address: SocketAddr, service: HttpService) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, service })
    }

    /// Takes a listener that somebody else has bound.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn from_listener(listener: std::net::TcpListener, service: HttpService) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener: TcpListener::from_std(listener)?, service })
    }

    /// The address, with the port that was chosen.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the shutdown handle of the service is pulled, then ends gracefully: it stops accepting,
    /// answers what was accepted within [`HttpLimits::shutdown_grace`], closes subscriptions with their
    /// result, and closes the connections.
    ///
    /// Not cancel safe: dropping it stops accepting, and leaves open connections to their own end.
    pub async fn run(self) {
        let Self { listener, service } = self;
        let shared = Arc::clone(&service.shared);
        let limits = &shared.limits;
        let builder = Arc::new(builder(limits));
        let places = Arc::new(Semaphore::new(limits.connections));
        let connections = TaskTracker::new();
        let mut watched: Vec<Watch> = Vec::new();
        let mut look = interval(Watch::interval(limits));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                biased;
                () = shared.shutdown.begun() => break,
                now = look.tick() => {
                    watched.retain(Watch::is_open);
                    watched.iter_mut().for_each(|connection| connection.look(now, limits));
                    continue;
                }
                accepted = accept(&listener, &places) => accepted,
            };
            let (stream, remote, place) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Mostly too many open files: connections have to end before it can work again.
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let activity = Arc::new(Activity::new());
            watched.push(Watch::new(Arc::clone(&activity)));
            let local = stream.local_addr().ok().map(Local::new);
            let connection = Connection { service: service.clone(), activity, local, remote };
            let builder = Arc::clone(&builder);
            connections.spawn(async move {
                let socket = match &connection.service.shared.security {
                    TransportSecurity::Tls(tls) => connection.shake_hands(tls, stream).await,
                    TransportSecurity::Plain | TransportSecurity::ByProxy => Some(Socket::Plain(stream)),
                };
                if let Some(socket) = socket {
                    drive(&builder, socket, connection).await;
                }
                drop(place);
            });
        }
        drop(listener);
        connections.close();
        // Subscriptions never end on their own; they get their closing result now.
        shared.endpoint.close();
        watched.iter().for_each(|connection| connection.order(Order::Close));
        tokio::select! {
            () = connections.wait() => return,
            () = shared.shutdown.forced() => {}
            () = sleep(limits.shutdown_grace) => {}
        }
        shared.expired.cancel();
        if timeout(limits.linger, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "connections were cut at the end");
            watched.iter().for_each(|connection| connection.order(Order::Cut));
            connections.wait().await;
        }
    }
}

type Place = tokio::sync::OwnedSemaphorePermit;

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, Place)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, remote) = listener.accept().await?;
    // A stream of events is many small writes, each of which would wait for the acknowledgement of the
    // one before.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    Ok((stream, remote, place))
}

/// The header fields that hyper reads when nothing else is said.
const HYPER_HEADERS: usize = 100;

fn builder(limits: &HttpLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // The time for a request head is kept by `Activity`, which costs a request no timer.
    builder.http1().max_buf_size(limits.header_bytes.max(8 << 10)).header_read_timeout(None);
    // Naming the number that hyper keeps on its own would cost each request an allocation.
    if limits.header_count != HYPER_HEADERS {
        builder.http1().max_headers(limits.header_count);
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.requests_per_connection)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.keep_alive_interval)
        .keep_alive_timeout(limits.stall_timeout);
    builder
}

/// Serves one connection to its end, or as long as it may be served.
async fn drive(builder: &auto::Builder<TokioExecutor>, socket: Socket, connection: Connection) {
    let activity = Arc::clone(&connection.activity);
    let io = Watched { io: TokioIo::new(socket), activity: Arc::clone(&activity) };
    let mut served = pin!(builder.serve_connection(io, connection));
    let mut closing = false;
    let ended = poll_fn(|context| {
        match activity.heed(context.waker()) {
            Order::Serve => {}
            Order::Close if closing => {}
            Order::Close => {
                closing = true;
                served.as_mut().graceful_shutdown();
            }
            Order::Cut => return Poll::Ready(Ok(())),
        }
        served.as_mut().poll(context)
    });
    if let Err(error) = ended.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The service of one connection.
struct Connection {
    service: HttpService,
    activity: Arc<Activity>,
    local: Option<Local>,
    remote: SocketAddr,
}

impl Connection {
    /// The stream inside TLS; nothing when the client does not get that far in time, or the server ends.
    async fn shake_hands(&self, tls: &Tls, stream: TcpStream) -> Option<Socket> {
        let shared = &self.service.shared;
        let accepted = tokio::select! {
            biased;
            () = shared.shutdown.begun() => return None,
            accepted = tls.accept(stream, shared.limits.handshake_timeout) => accepted,
        };
        match accepted {
            Ok(stream) => Some(Socket::Tls(Box::new(stream))),
            Err(error) => {
                tracing::debug!(%error, "a connection did not get past TLS");
                None
            }
        }
    }
}

impl hyper::service::Service<Request<Incoming>> for Connection {
    type Response = http::Response<super::Body>;
    type Error = std::convert::Infallible;
    type Future = ResponseFuture<Incoming>;

    fn call(&self, request: Request<Incoming>) -> ResponseFuture<Incoming> {
        if request.version() == http::Version::HTTP_2 {
            self.activity.is_multiplexed();
        }
        let link =
            Link { local: self.local.as_ref(), remote: Some(self.remote), activity: Some(&self.activity) };
        self.service.respond(request, link)
    }
}

/// A socket that tells the connection's [`Activity`] what goes through it.
struct Watched {
    io: TokioIo<Socket>,
    activity: Arc<Activity>,
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if read.is_ready() {
            self.activity.was_read();
        }
        read
    }
}

impl Write for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        if written.is_ready() {
            self.activity.was_written();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        if written.is_ready() {
            self.activity.was_written();
        }
        written
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("service", &self.service).finish_non_exhaustive()
    }
}
