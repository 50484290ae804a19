//! Lists: rendered once per snapshot and page for all principals who see the same.
//!
//! A list is a function of the snapshot and the principal alone; it must never vary with the connection
//! or with an earlier request. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching>

use bytes::Bytes;
use callgate_core::offer::OfferKind;
use callgate_protocol::Request;
use callgate_protocol::json::{push_integer, push_string};

use super::published::Published;
use super::{Answered, Endpoint, Fault, From, cursor, shared};

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ListKind {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl ListKind {
    /// Every list.
    pub(super) const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// What the list holds, unless it is tools.
    pub(super) const fn offer(self) -> Option<OfferKind> {
        match self {
            Self::Tools => None,
            Self::Resources => Some(OfferKind::Resource),
            Self::Templates => Some(OfferKind::Template),
            Self::Prompts => Some(OfferKind::Prompt),
        }
    }

    /// The member of the result that holds the entries.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::Tools => b't',
            Self::Resources => b'r',
            Self::Templates => b'm',
            Self::Prompts => b'p',
        }
    }
}

/// Who may share a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheScope {
    /// Everybody who may ask.
    Public,
    /// Only whoever asked.
    Private,
}

impl CacheScope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// One entry of a list: its key, by which lists are ordered, and its JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) json: String,
}

/// The entries of one list in the order of their keys, and its pages where all see the same.
#[derive(Debug)]
pub(crate) struct List {
    kind: ListKind,
    entries: Vec<Entry>,
    page_size: usize,
    pages: Vec<Rendered>,
}

/// One page as it leaves.
#[derive(Debug)]
pub(super) struct Rendered {
    /// The key after which this page starts; nothing for the first.
    after: Option<String>,
    /// The result object and the end of the envelope.
    pub(super) body: Bytes,
}

/// One page of a list.
struct Page<'p> {
    entries: Vec<&'p Entry>,
    next: Option<String>,
}

/// What every page of a list carries besides its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'f> {
    pub(super) ttl_ms: u64,
    pub(super) scope: CacheScope,
    /// The members of `_meta` with their braces.
    pub(super) meta: &'f str,
}

impl List {
    /// A list in the order of its keys.
    pub(super) fn new(kind: ListKind, mut entries: Vec<Entry>, page_size: usize) -> Self {
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        Self { kind, entries, page_size: page_size.max(1), pages: Vec::new() }
    }

    /// Renders all pages, for a list that is the same for everybody.
    pub(super) fn render(&mut self, frame: Frame<'_>) {
        self.pages = self.pages(frame, EVERYBODY, |_| true);
    }

    /// All pages of those entries whose places are seen. Their cursors are bound to the tag.
    pub(super) fn pages(
        &self,
        frame: Frame<'_>,
        tag: &str,
        is_seen: impl Fn(usize) -> bool,
    ) -> Vec<Rendered> {
        let mut pages = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.page_after(after.as_deref(), tag, &is_seen);
            let body = render(self.kind, &page, frame);
            let last = page.entries.last().map(|entry| entry.key.clone());
            let more = page.next.is_some();
            pages.push(Rendered { after, body });
            if !more {
                return pages;
            }
            after = last;
        }
    }

    pub(super) fn kind(&self) -> ListKind {
        self.kind
    }

    /// All entries.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn page_after(&self, after: Option<&str>, tag: &str, is_seen: impl Fn(usize) -> bool) -> Page<'_> {
        let start = after.map_or(0, |key| self.entries.partition_point(|entry| entry.key.as_str() <= key));
        let rest = self.entries.iter().enumerate().skip(start);
        let mut rest = rest.filter(|(at, _)| is_seen(*at)).map(|(_, entry)| entry);
        let entries: Vec<_> = rest.by_ref().take(self.page_size).collect();
        let next = rest.next().and(entries.last()).map(|last| cursor::encode(self.kind, tag, &last.key));
        Page { entries, next }
    }
}

fn render(kind: ListKind, page: &Page<'_>, frame: Frame<'_>) -> Bytes {
    let size: usize = page.entries.iter().map(|entry| entry.json.len() + 1).sum();
    let mut out = String::with_capacity(size + 256 + frame.meta.len());
    out.push_str("{\"resultType\":\"complete\",\"");
    out.push_str(kind.member());
    out.push_str("\":[");
    for (at, entry) in page.entries.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&entry.json);
    }
    out.push(']');
    if let Some(next) = &page.next {
        out.push_str(",\"nextCursor\":");
        push_string(&mut out, next);
    }
    push_cache(&mut out, frame.ttl_ms, frame.scope);
    out.push_str(",\"_meta\":");
    out.push_str(frame.meta);
    out.push_str("}}");
    Bytes::from(out)
}

/// Appends the caching hints, which every cacheable result must carry.
pub(super) fn push_cache(out: &mut String, ttl_ms: u64, scope: CacheScope) {
    out.push_str(",\"ttlMs\":");
    push_integer(out, ttl_ms);
    out.push_str(",\"cacheScope\":\"");
    out.push_str(scope.as_str());
    out.push('"');
}

impl Published {
    /// The list of that kind.
    pub(crate) fn list(&self, kind: ListKind) -> &List {
        match kind {
            ListKind::Tools => &self.tools,
            ListKind::Resources => &self.resource_list,
            ListKind::Templates => &self.template_list,
            ListKind::Prompts => &self.prompt_list,
        }
    }
}

impl Endpoint {
    pub(super) async fn answer_list(
        &self,
        published: &Published,
        kind: ListKind,
        request: &Request,
        from: From<'_>,
    ) -> Result<Answered, Fault> {
        let principal = Self::authenticate(published, from.credentials).await?;
        let _places = self.pipeline().admit(&published.gate, &principal)?;
        let cursor = match request.params().and_then(|params| params.get("cursor")) {
            None => None,
            Some(value) => Some(value.as_str().ok_or(Fault::params("`cursor` must be a string"))?),
        };
        let list = published.list(kind);
        let seen = published.visible(kind, &principal).map(|set| published.seen(kind, set));
        let (pages, tag) = match &seen {
            Some(seen) => (&seen.pages, &*seen.tag),
            None => (&list.pages, EVERYBODY),
        };
        let after = cursor.map(|cursor| decode(kind, tag, &cursor)).transpose()?;
        // A list that changed since the cursor was given has other pages; then this page is made anew.
        if let Some(page) = pages.iter().find(|page| page.after == after) {
            return Ok(shared(request.id(), page.body.clone()));
        }
        let is_seen = |at| seen.as_ref().is_none_or(|seen| seen.set.contains(at));
        let page = list.page_after(after.as_deref(), tag, is_seen);
        Ok(shared(request.id(), render(kind, &page, published.frame())))
    }
}

/// What the cursors of a list are bound to that is the same for everybody: they outlive a change of it.
const EVERYBODY: &str = "";

fn decode(kind: ListKind, tag: &str, cursor: &str) -> Result<String, Fault> {
    cursor::decode(kind, tag, cursor)
        .ok_or(Fault::params("`cursor` is none that this server gave for this list; start again without it"))
}
