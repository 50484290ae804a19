//! The compiler: schema text in, program or findings out.
//!
//! First every subschema is found and named (`discover.rs`), then each is translated on its own, with
//! an explicit list of what is left, so that depth costs no stack. It must never accept a keyword
//! that it cannot enforce, and it reports all faults, not the first. [`Schema`] calls it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_protocol::json::{Document, Limits, ParseErrorKind, Value};

use super::evaluate::Run;
use super::pattern::Pattern;
use super::program::{Node, NodeId, Op, Origin, Part, Program, Rule, Span, Types};
use super::resource::Resources;
use super::source::{Place, Sources};
use super::{Dialect, Finding, Formats, Note, Schema, SchemaError, SchemaLimits, SchemaOptions, graph};

mod array;
mod discover;
mod keyword;
mod object;
mod read;
mod reference;

pub(super) fn compile(text: &str, options: &SchemaOptions<'_>) -> Result<Schema, SchemaError> {
    let limits = options.limits;
    let bounds = Limits::DEFAULT.with_bytes(limits.bytes).with_depth(limits.depth);
    let parse = |text: &str| Document::parse(text, &bounds).map_err(|error| unreadable(&error, limits));
    let given = options.documents.iter().map(|(uri, text)| Ok(((*uri).to_owned(), parse(text)?)));
    let sources = Sources::new(parse(text)?, given.collect::<Result<_, SchemaError>>()?);
    let mut compiler = Compiler::new(&sources, limits, options.formats);
    // The outcome of a stopped compilation is in its findings.
    let _stopped = compiler.run();
    let Compiler { nodes, ops, findings, mut notes, anchors, defaults, .. } = compiler;
    if !findings.is_empty() {
        return Err(in_order(findings, limits));
    }
    let dialect = root_dialect(sources.own().root()).unwrap_or(Dialect::Draft202012);
    let program = Program { nodes, ops, root: 0, anchors };
    for (node, default) in defaults {
        let verdict = Run::new(&program, &sources, limits, sources.value(default)).accepts(node);
        if verdict == Ok(false) {
            notes.push((default, "default", "the default value does not satisfy its own schema".to_owned()));
        }
    }
    notes.sort_by_key(|(place, ..)| *place);
    let notes = notes
        .into_iter()
        .map(|(place, keyword, message)| Note {
            pointer: sources.pointer(place),
            keyword: keyword.to_owned(),
            message,
        })
        .collect();
    Ok(Schema { sources, program, dialect, limits: *limits, notes })
}

/// The dialect that a root names; 2020-12 if it names none.
fn root_dialect(root: Value<'_>) -> Option<Dialect> {
    match root.get("$schema") {
        None => Some(Dialect::Draft202012),
        Some(uri) => uri.as_str().and_then(|uri| Dialect::of_uri(&uri)),
    }
}

fn unreadable(error: &callgate_protocol::json::ParseError, limits: &SchemaLimits) -> SchemaError {
    let (message, remedy) = match error.kind {
        ParseErrorKind::TooDeep => (
            format!("the schema is nested deeper than {} levels of arrays and objects", limits.depth),
            "move inner schemas to `$defs` and refer to them",
        ),
        ParseErrorKind::TooLong => (
            format!("the schema is longer than {} bytes", limits.bytes),
            "split the tool or shorten the schema",
        ),
        kind => (format!("the schema is not JSON: {kind} at byte {}", error.offset), "correct the JSON text"),
    };
    let finding =
        Finding { pointer: String::new(), keyword: String::new(), message, remedy: remedy.to_owned() };
    SchemaError { findings: vec![finding] }
}

fn in_order(mut findings: Vec<(Place, Finding)>, limits: &SchemaLimits) -> SchemaError {
    findings.sort_by_key(|(place, _)| *place);
    findings.truncate(limits.findings.max(1));
    SchemaError { findings: findings.into_iter().map(|(_, finding)| finding).collect() }
}

/// The compilation cannot go on; the reason is among the findings.
#[derive(Debug)]
struct Stop;

struct Compiler<'s> {
    sources: &'s Sources,
    limits: &'s SchemaLimits,
    formats: Formats,
    resources: Resources,
    nodes: Vec<Node>,
    /// For each document and position, one more than the subschema there; zero for none.
    index: Vec<Vec<NodeId>>,
    ops: Vec<Op>,
    patterns: BTreeMap<String, Arc<Pattern>>,
    /// Names and positions of the members of large objects that references go through, sorted.
    members: BTreeMap<Place, Vec<(Cow<'s, str>, u32)>>,
    /// Names of the dynamic anchors that some reference resolves dynamically.
    dynamic_names: Vec<String>,
    anchors: Vec<Vec<(u32, NodeId)>>,
    findings: Vec<(Place, Finding)>,
    notes: Vec<(Place, &'static str, String)>,
    /// Default values and the subschemas that they should satisfy.
    defaults: Vec<(NodeId, Place)>,
    work: u64,
}

impl<'s> Compiler<'s> {
    fn new(sources: &'s Sources, limits: &'s SchemaLimits, formats: Formats) -> Self {
        Self {
            sources,
            limits,
            formats,
            resources: Resources::default(),
            nodes: Vec::new(),
            index: vec![Vec::new(); sources.count()],
            ops: Vec::new(),
            patterns: BTreeMap::new(),
            members: BTreeMap::new(),
            dynamic_names: Vec::new(),
            anchors: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            defaults: Vec::new(),
            work: 0,
        }
    }

    fn run(&mut self) -> Result<(), Stop> {
        let root = Place { document: 0, position: 0 };
        let value = self.sources.value(root);
        let Some(dialect) = root_dialect(value) else {
            let place = value.get("$schema").map_or(root, |uri| at(root, uri));
            self.unknown_dialect(place);
            return Err(Stop);
        };
        self.discover(root, None, dialect)?;
        let mut next: usize = 0;
        while next < self.nodes.len() {
            self.translate(next as NodeId)?;
            next += 1;
        }
        self.bind_anchors();
        if self.findings.is_empty() {
            self.analyse()?;
        }
        Ok(())
    }

    fn analyse(&mut self) -> Result<(), Stop> {
        let cost = (self.nodes.len() + self.ops.len()) as u64;
        self.charge(cost)?;
        let circles = graph::circles(&self.nodes, &self.ops);
        if circles.is_empty() {
            graph::shorten(&self.nodes, &mut self.ops, &self.anchors);
            graph::tag(&self.nodes, &mut self.ops);
            graph::mark(&mut self.nodes, &mut self.ops, &self.anchors);
        }
        for node in circles {
            let place = self.node(node).place;
            self.finding(
                place,
                "$ref",
                "the reference leads back to itself without going into the value, so it can never be judged",
                "refer to it from a property or an item, or remove the circle",
            );
        }
        Ok(())
    }

    /// Translates one subschema into operations.
    fn translate(&mut self, id: NodeId) -> Result<(), Stop> {
        let (place, resource) = (self.node(id).place, self.node(id).resource);
        let value = self.sources.value(place);
        self.charge(1)?;
        if let Some(verdict) = value.as_bool() {
            let node = self.node_mut(id);
            (node.rule, node.types) =
                if verdict { (Rule::Anything, Types::ALL) } else { (Rule::Nothing, Types(0)) };
            return Ok(());
        }
        if value.kind() != callgate_protocol::json::Kind::Object {
            self.finding(
                place,
                "",
                "a schema is an object or a boolean",
                "write `true` to accept everything, or an object of keywords",
            );
            return Ok(());
        }
        let mut parts = keyword::Parts::new(id, place, resource, self.resources.get(resource).dialect);
        self.keywords(&mut parts, value)?;
        self.emit(parts);
        Ok(())
    }

    fn emit(&mut self, parts: keyword::Parts) {
        let mut push = |ops: Vec<Op>| {
            let start = self.ops.len() as u32;
            self.ops.extend(ops);
            Span { start, end: self.ops.len() as u32 }
        };
        let (any, number, string) = (push(parts.any), push(parts.number), push(parts.string));
        let (array, object) = (push(parts.array), push(parts.object));
        let node = self.node_mut(parts.node);
        node.types = parts.types;
        node.any = any;
        // In the order of `Kind`: null, boolean, number, string, array, object.
        node.by_kind = [Span::default(), Span::default(), number, string, array, object];
        if node.is_empty() && node.types == Types::ALL {
            node.rule = Rule::Anything;
        }
    }

    /// The subschema at a place that discovery or a reference has found, made if it is new.
    fn node_at(&mut self, place: Place, resource: u32) -> Result<NodeId, Stop> {
        self.node_from(place, resource, Origin { parent: None, keyword: 0, part: Part::Whole })
    }

    fn node_from(&mut self, place: Place, resource: u32, origin: Origin) -> Result<NodeId, Stop> {
        let document = self.sources.document(place.document);
        let Some(positions) = self.index.get_mut(usize::from(place.document)) else { return Err(Stop) };
        if positions.is_empty() {
            positions.resize(document.len(), 0);
        }
        let Some(slot) = positions.get_mut(place.position as usize) else { return Err(Stop) };
        if *slot == 0 {
            if self.nodes.len() >= self.limits.subschemas {
                let bound = self.limits.subschemas;
                self.finding(
                    place,
                    "",
                    &format!("the schema has more than {bound} subschemas"),
                    "split the tool or shorten the schema",
                );
                return Err(Stop);
            }
            self.nodes.push(Node::new(place, resource, origin));
            *slot = self.nodes.len() as NodeId;
        }
        Ok(*slot - 1)
    }

    fn known_node(&self, place: Place) -> Option<NodeId> {
        let positions = self.index.get(usize::from(place.document))?;
        positions.get(place.position as usize)?.checked_sub(1)
    }

    /// Pays for work; stops the compilation when the bound is reached.
    fn charge(&mut self, steps: u64) -> Result<(), Stop> {
        self.work = self.work.saturating_add(steps);
        if self.work <= self.limits.compile_work {
            return Ok(());
        }
        self.finding(
            Place { document: 0, position: 0 },
            "",
            &format!("compiling the schema takes more than {} steps of work", self.limits.compile_work),
            "split the tool or shorten the schema",
        );
        Err(Stop)
    }

    fn finding(&mut self, place: Place, keyword: &str, message: &str, remedy: &str) {
        // Beyond the bound the faults are the author's to find again; memory is ours.
        if self.findings.len() > self.limits.findings.saturating_mul(4) {
            return;
        }
        let finding = Finding {
            pointer: self.sources.pointer(place),
            keyword: keyword.to_owned(),
            message: message.to_owned(),
            remedy: remedy.to_owned(),
        };
        if !self.findings.iter().any(|(_, known)| *known == finding) {
            self.findings.push((place, finding));
        }
    }

    fn note(&mut self, place: Place, keyword: &'static str, message: impl Into<String>) {
        if self.notes.len() < self.limits.findings {
            self.notes.push((place, keyword, message.into()));
        }
    }

    fn unknown_dialect(&mut self, place: Place) {
        let value = self.sources.value(place);
        let named =
            value.as_str().map_or_else(|| "no string".to_owned(), |uri| format!("`{}`", shortened(&uri)));
        self.finding(
            place,
            "$schema",
            &format!(
                "the dialect {named} is not supported, and no schema is judged by another dialect's rules"
            ),
            &format!("use `{}` or `{}`", Dialect::Draft202012.uri(), Dialect::Draft07.uri()),
        );
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "identifiers come from `node_at` and nodes are never removed"
    )]
    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "identifiers come from `node_at` and nodes are never removed"
    )]
    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }
}

/// The place of a part of the value at `parent`.
fn at(parent: Place, part: Value<'_>) -> Place {
    Place { document: parent.document, position: part.position() }
}

/// A text of the schema, cut to a length that fits into a message.
fn shortened(text: &str) -> &str {
    match text.char_indices().nth(200) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}
