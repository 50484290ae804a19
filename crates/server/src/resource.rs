//! Resources and resource templates: what a client may read by its URI.
//!
//! A URI is judged before a handler sees it: it must follow RFC 3986, and a variable of a template never
//! spans a separator or climbs out of its place. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/resources>

mod template;
mod uri;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callgate_core::offer::{Offer, OfferKind};
use callgate_core::port::Answer;
use callgate_protocol::json::{push_integer, push_string};

use crate::completion::{Completer, Completing};
use crate::content::{push_member, resource_bytes, resource_text};
use crate::context::Context;
use crate::endpoint::Entry;
use crate::handler::{Act, Action, Handler, Stateful, StatefulHandler, Stateless, ToolError};
use template::Template;
pub(crate) use template::TemplateFault;
pub(crate) use uri::{is_uri, to_uri};

/// What is read: the URI, and the variables of the template that matched it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reading {
    /// The URI as requested.
    pub uri: String,
    /// The variables of the template, percent-decoded.
    pub variables: BTreeMap<String, String>,
}

/// What a resource holds, and how long it may be taken for fresh.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    parts: Vec<Part>,
    pub(crate) ttl: Duration,
}

#[derive(Clone, Debug)]
struct Part {
    uri: Option<String>,
    mime_type: Option<String>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

impl Contents {
    /// A text. Its type is the one that the resource declares.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Body::Text(text.into()))
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Body::Bytes(bytes.into()))
    }

    fn of(body: Body) -> Self {
        Self { parts: vec![Part { uri: None, mime_type: None, body }], ttl: Duration::ZERO }
    }

    /// The same contents with another type than the resource declares.
    #[must_use]
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        if let Some(part) = self.parts.last_mut() {
            part.mime_type = Some(mime_type.to_owned());
        }
        self
    }

    /// The same contents and those of one more URI, such as a file of a folder.
    #[must_use]
    pub fn and(mut self, uri: &str, other: Self) -> Self {
        self.parts.extend(other.parts.into_iter().map(|part| Part { uri: Some(uri.to_owned()), ..part }));
        self
    }

    /// How long a client may take the contents for fresh. Default: not at all.
    #[must_use]
    pub fn fresh_for(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The contents as one JSON array.
    pub(crate) fn to_json(&self, uri: &str, mime_type: Option<&str>) -> String {
        let mut out = String::from("[");
        for (at, part) in self.parts.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            let uri = part.uri.as_deref().unwrap_or(uri);
            let mime_type = part.mime_type.as_deref().or(mime_type);
            out.push_str(&match &part.body {
                Body::Text(text) => resource_text(uri, mime_type, text),
                Body::Bytes(bytes) => resource_bytes(uri, mime_type, bytes),
            });
        }
        out.push(']');
        out
    }
}

/// What both kinds of resource say about themselves.
struct About {
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    labels: Vec<String>,
    scopes: Vec<String>,
}

impl About {
    fn new(name: String) -> Self {
        let (labels, scopes) = (Vec::new(), Vec::new());
        Self { name, title: None, description: None, mime_type: None, labels, scopes }
    }

    /// What policies know of it.
    fn offer(&self, kind: OfferKind, name: &str) -> Offer {
        Offer::new(kind, name).with_labels(self.labels.clone()).with_scopes(self.scopes.clone())
    }

    fn write(&self, out: &mut String) {
        push_member(out, "name", &self.name);
        let members =
            [("title", &self.title), ("description", &self.description), ("mimeType", &self.mime_type)];
        for (member, text) in members {
            if let Some(text) = text {
                push_member(out, member, text);
            }
        }
    }
}

type Reader = Box<dyn Act<Reading, Contents>>;

/// A resource with a fixed URI.
pub struct Resource {
    pub(crate) uri: String,
    about: About,
    size: Option<u64>,
    act: Reader,
}

/// Resources whose URIs follow a template, such as `invoice://{tenant}/{number}`. A variable stands for
/// one or more characters that are no separators.
pub struct ResourceTemplate {
    pub(crate) template: String,
    parsed: Result<Template, TemplateFault>,
    about: About,
    act: Reader,
    completers: BTreeMap<String, Completer>,
}

macro_rules! about_setters {
    ($type:ty) => {
        impl $type {
            /// The name that people see.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.about.title = Some(title.into());
                self
            }

            /// What is in it.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.about.description = Some(description.into());
                self
            }

            /// The type of its contents.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.about.mime_type = Some(mime_type.into());
                self
            }

            /// A label that policies may refer to; never shown to a client.
            #[must_use]
            pub fn label(mut self, label: impl Into<String>) -> Self {
                self.about.labels.push(label.into());
                self
            }

            /// A scope that the credential of a reader must have. One that lacks any is told all of them.
            #[must_use]
            pub fn scope(mut self, scope: impl Into<String>) -> Self {
                self.about.scopes.push(scope.into());
                self
            }
        }
    };
}

about_setters!(Resource);
about_setters!(ResourceTemplate);

impl Resource {
    /// A resource that an async function reads.
    pub fn new<H>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: for<'c> Handler<'c, Reading, Contents>,
    {
        let act = Box::new(Action::new(Stateless(handler)));
        Self { uri: uri.into(), about: About::new(name.into()), size: None, act }
    }

    /// A resource that an async function reads, which borrows state that all requests share.
    pub fn with_state<S, H>(uri: impl Into<String>, name: impl Into<String>, state: S, handler: H) -> Self
    where
        S: Send + Sync + 'static,
        H: for<'c> StatefulHandler<'c, S, Reading, Contents>,
    {
        let act = Box::new(Action::new(Stateful(state, handler)));
        Self { uri: uri.into(), about: About::new(name.into()), size: None, act }
    }

    /// A resource that never changes.
    pub fn fixed(uri: impl Into<String>, name: impl Into<String>, contents: Contents) -> Self {
        let size = contents.parts.first().map(|part| match &part.body {
            Body::Text(text) => text.len() as u64,
            Body::Bytes(bytes) => bytes.len() as u64,
        });
        let act = Box::new(Fixed(contents));
        Self { uri: uri.into(), about: About::new(name.into()), size, act }
    }

    fn entry(&self) -> Entry {
        let mut out = String::from("{\"uri\":");
        push_string(&mut out, &self.uri);
        self.about.write(&mut out);
        if let Some(size) = self.size {
            out.push_str(",\"size\":");
            push_integer(&mut out, size);
        }
        out.push('}');
        Entry { key: self.uri.clone(), json: out }
    }
}

impl ResourceTemplate {
    /// Resources that an async function reads.
    ///
    /// ```
    /// use callgate_server::{Contents, Context, Reading, ResourceTemplate, ToolError};
    ///
    /// async fn invoice(_: Context<'_>, reading: Reading) -> Result<Contents, ToolError> {
    ///     match reading.variables["number"].as_str() {
    ///         "7" => Ok(Contents::text("Invoice 7")),
    ///         _ => Err(ToolError::not_found()),
    ///     }
    /// }
    ///
    /// let _ = ResourceTemplate::new("invoice://{number}", "Invoice", invoice).mime_type("text/plain");
    /// ```
    pub fn new<H>(template: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: for<'c> Handler<'c, Reading, Contents>,
    {
        Self::of(template.into(), name.into(), Box::new(Action::new(Stateless(handler))))
    }

    /// Resources that an async function reads, which borrows state that all requests share.
    pub fn with_state<S, H>(
        template: impl Into<String>,
        name: impl Into<String>,
        state: S,
        handler: H,
    ) -> Self
    where
        S: Send + Sync + 'static,
        H: for<'c> StatefulHandler<'c, S, Reading, Contents>,
    {
        Self::of(template.into(), name.into(), Box::new(Action::new(Stateful(state, handler))))
    }

    fn of(template: String, name: String, act: Reader) -> Self {
        let parsed = Template::parse(&template);
        Self { template, parsed, about: About::new(name), act, completers: BTreeMap::new() }
    }

    /// Completes a variable while a person types it.
    #[must_use]
    pub fn complete<H>(mut self, variable: impl Into<String>, handler: H) -> Self
    where
        H: for<'c> Handler<'c, Completing, Vec<String>>,
    {
        self.completers.insert(variable.into(), Box::new(Action::new(Stateless(handler))));
        self
    }

    pub(crate) fn completer(&self, variable: &str) -> Option<&Completer> {
        self.completers.get(variable)
    }

    /// Why the template cannot be used.
    pub(crate) fn fault(&self) -> Option<&TemplateFault> {
        self.parsed.as_ref().err()
    }

    /// Variables that are completed and do not exist.
    pub(crate) fn unknown_completions(&self) -> impl Iterator<Item = &str> {
        let is_known = |name: &str| {
            self.parsed.as_ref().is_ok_and(|template| template.variables().any(|known| known == name))
        };
        self.completers.keys().map(String::as_str).filter(move |name| !is_known(name))
    }

    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.parsed.as_ref().is_ok_and(|template| template.variables().any(|known| known == name))
    }

    fn entry(&self) -> Entry {
        let mut out = String::from("{\"uriTemplate\":");
        push_string(&mut out, &self.template);
        self.about.write(&mut out);
        out.push('}');
        Entry { key: self.template.clone(), json: out }
    }
}

struct Fixed(Contents);

impl Act<Reading, Contents> for Fixed {
    fn act<'a>(&'a self, _context: Context<'a>, _input: Reading) -> Answer<'a, Result<Contents, ToolError>> {
        Answer::now(Ok(self.0.clone()))
    }
}

/// All resources of a server. Fixed URIs go before templates, and templates in their order.
#[derive(Default)]
pub(crate) struct Resources {
    pub(crate) fixed: BTreeMap<String, Arc<Resource>>,
    pub(crate) templates: Vec<Arc<ResourceTemplate>>,
}

/// A resource that a URI leads to.
pub(crate) struct Found<'r> {
    act: &'r dyn Act<Reading, Contents>,
    /// What policies know it by.
    pub(crate) offered: (OfferKind, &'r str),
    pub(crate) mime_type: Option<&'r str>,
    reading: Reading,
}

impl<'r> Found<'r> {
    /// The variables of the template.
    pub(crate) fn variables(&self) -> &BTreeMap<String, String> {
        &self.reading.variables
    }

    pub(crate) fn act(self, context: Context<'r>) -> Answer<'r, Result<Contents, ToolError>> {
        self.act.act(context, self.reading)
    }
}

impl Resources {
    pub(crate) fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.templates.is_empty()
    }

    pub(crate) fn has_completions(&self) -> bool {
        self.templates.iter().any(|template| !template.completers.is_empty())
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.fixed.values().map(|resource| resource.entry()).collect()
    }

    pub(crate) fn template_entries(&self) -> Vec<Entry> {
        self.templates.iter().map(|template| template.entry()).collect()
    }

    /// What policies know of all of them.
    pub(crate) fn offers(&self) -> impl Iterator<Item = Offer> {
        let fixed = self.fixed.values();
        let fixed = fixed.map(|resource| resource.about.offer(OfferKind::Resource, &resource.uri));
        let templates = self.templates.iter().map(|template| {
            let variables = template
                .parsed
                .as_ref()
                .map_or_else(|_| Vec::new(), |parsed| parsed.variables().map(str::to_owned).collect());
            template.about.offer(OfferKind::Template, &template.template).with_inputs(variables)
        });
        fixed.chain(templates)
    }

    /// The resource of that URI, if the URI is valid and leads to one.
    pub(crate) fn find(&self, uri: &str) -> Option<Found<'_>> {
        if !is_uri(uri) {
            return None;
        }
        let reading = |variables| Reading { uri: uri.to_owned(), variables };
        if let Some(resource) = self.fixed.get(uri) {
            let reading = reading(BTreeMap::new());
            return Some(Found {
                act: &*resource.act,
                offered: (OfferKind::Resource, &resource.uri),
                mime_type: resource.about.mime_type.as_deref(),
                reading,
            });
        }
        self.templates.iter().find_map(|template| {
            let variables = template.parsed.as_ref().ok()?.matches(uri)?;
            let mime_type = template.about.mime_type.as_deref();
            let offered = (OfferKind::Template, template.template.as_str());
            Some(Found { act: &*template.act, offered, mime_type, reading: reading(variables) })
        })
    }

    /// The template of that text.
    pub(crate) fn template(&self, template: &str) -> Option<&Arc<ResourceTemplate>> {
        self.templates.iter().find(|known| known.template == template)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({})", self.uri)
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceTemplate({})", self.template)
    }
}
