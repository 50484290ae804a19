//! References: from `$ref` and `$dynamicRef` to the subschema that they name.
//!
//! Only the schema's own document and the compiled-in meta-schemas are looked at. It must never
//! touch the network or a file, and what is not found makes the schema unusable. The compiler
//! calls it.

use callgate_protocol::json::{Kind, Value};

use super::super::program::{NodeId, Op};
use super::super::source::Place;
use super::super::uri::{percent_decode, resolve, split_fragment};
use super::keyword::Parts;
use super::{Compiler, Stop, at, root_dialect, shortened};

/// What a reference leads to.
struct Target {
    node: NodeId,
    resource: u32,
    /// The plain-name fragment, if the reference has one.
    anchor: Option<String>,
}

impl<'s> Compiler<'s> {
    pub(super) fn reference(&mut self, parts: &mut Parts, value: Value<'_>) -> Result<(), Stop> {
        if let Some(target) = self.resolve_reference("$ref", parts, value)? {
            parts.any.push(Op::Reference(target.node));
        }
        Ok(())
    }

    pub(super) fn dynamic_reference(&mut self, parts: &mut Parts, value: Value<'_>) -> Result<(), Stop> {
        let Some(target) = self.resolve_reference("$dynamicRef", parts, value)? else { return Ok(()) };
        // 2020-12 core, 8.2.3.2: only a reference that first lands on a dynamic anchor is dynamic.
        let dynamic = target
            .anchor
            .filter(|anchor| self.resources.get(target.resource).dynamic_anchors.contains_key(anchor));
        parts.any.push(match dynamic {
            None => Op::Reference(target.node),
            Some(name) => {
                let known = self.dynamic_names.iter().position(|known| *known == name);
                let anchor = known.unwrap_or_else(|| {
                    self.dynamic_names.push(name);
                    self.dynamic_names.len() - 1
                });
                Op::DynamicReference { anchor: anchor as u32, fallback: target.node }
            }
        });
        Ok(())
    }

    /// After all subschemas are known: which subschema bears which dynamic anchor in which resource.
    pub(super) fn bind_anchors(&mut self) {
        if self.dynamic_names.is_empty() {
            return;
        }
        let bind = |anchors: &std::collections::BTreeMap<String, Place>| {
            let named = |(at, name): (usize, &String)| {
                let node = self.known_node(*anchors.get(name)?)?;
                Some((at as u32, node))
            };
            self.dynamic_names.iter().enumerate().filter_map(named).collect::<Vec<_>>()
        };
        let anchors = self.resources.iter().map(|resource| bind(&resource.dynamic_anchors)).collect();
        self.anchors = anchors;
    }

    fn resolve_reference(
        &mut self,
        keyword: &'static str,
        parts: &Parts,
        value: Value<'_>,
    ) -> Result<Option<Target>, Stop> {
        let place = at(parts.place, value);
        let Some(reference) = value.as_str() else {
            self.finding(place, keyword, "a reference is a string", "write the reference as a string");
            return Ok(None);
        };
        let (before, fragment) = split_fragment(&reference);
        let uri = resolve(&self.resources.get(parts.resource).uri, before);
        self.charge(1 + (uri.len() + reference.len()) as u64 / 16)?;
        let Some(resource) = self.find_resource(&uri)? else {
            self.finding(
                place,
                keyword,
                &format!(
                    "the reference `{}` is not in this document, and nothing is ever fetched",
                    shortened(&uri)
                ),
                "copy the schema into `$defs` and refer to it as `#/$defs/name`",
            );
            return Ok(None);
        };
        let fragment = fragment.unwrap_or_default();
        let target = match percent_decode(fragment) {
            None => None,
            Some(decoded) if decoded.is_empty() => {
                let root = self.resources.get(resource).root;
                Some(Target { node: self.node_at(root, resource)?, resource, anchor: None })
            }
            Some(decoded) if decoded.starts_with('/') => self.pointed_at(&decoded, resource)?,
            Some(decoded) => match self.resources.get(resource).anchors.get(&decoded).copied() {
                Some(place) => {
                    Some(Target { node: self.node_at(place, resource)?, resource, anchor: Some(decoded) })
                }
                None => None,
            },
        };
        if target.is_none() {
            self.finding(
                place,
                keyword,
                &format!("the reference `{}` leads to nothing", shortened(&reference)),
                "correct the reference, or add the schema it names to `$defs`",
            );
        }
        Ok(target)
    }

    /// The resource of that identifier, if need be that of a document at hand.
    fn find_resource(&mut self, uri: &str) -> Result<Option<u32>, Stop> {
        if let Some(resource) = self.resources.find(uri) {
            return Ok(Some(resource));
        }
        let Some(document) = self.sources.find(uri) else { return Ok(None) };
        let root = Place { document, position: 0 };
        let value = self.sources.value(root);
        let Some(dialect) = root_dialect(value) else {
            self.unknown_dialect(value.get("$schema").map_or(root, |uri| at(root, uri)));
            return Err(Stop);
        };
        self.discover(root, None, dialect)?;
        Ok(self.known_node(root).map(|node| self.node(node).resource))
    }

    /// Follows a JSON pointer from the root of a resource.
    fn pointed_at(&mut self, pointer: &str, resource: u32) -> Result<Option<Target>, Stop> {
        let root = self.resources.get(resource).root;
        let mut value = self.sources.value(root);
        let mut resource = resource;
        for token in pointer.split('/').skip(1) {
            self.charge(1)?;
            let next = match value.kind() {
                Kind::Object => {
                    self.member(at(root, value), value, &token.replace("~1", "/").replace("~0", "~"))?
                }
                Kind::Array => {
                    let canonical = token == "0" || !token.starts_with(['0', '+']);
                    self.charge(value.len() as u64)?;
                    token.parse().ok().filter(|_| canonical).and_then(|index| value.items().nth(index))
                }
                _ => None,
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
            if let Some(node) = self.known_node(at(root, value)) {
                resource = self.node(node).resource;
            }
        }
        let place = at(root, value);
        if self.known_node(place).is_none() {
            // The pointer leads into a keyword that is no schema keyword; what is there becomes one.
            let dialect = self.resources.get(resource).dialect;
            self.discover(place, Some(resource), dialect)?;
        }
        let Some(node) = self.known_node(place) else { return Ok(None) };
        Ok(Some(Target { node, resource: self.node(node).resource, anchor: None }))
    }

    /// The member of that name. Objects with many members, such as `$defs`, are indexed by name when a
    /// reference first goes through them, so that many references to them are not a square of work.
    fn member(&mut self, place: Place, object: Value<'s>, name: &str) -> Result<Option<Value<'s>>, Stop> {
        if object.len() <= SMALL_OBJECT {
            self.charge(object.len() as u64)?;
            return Ok(object.get(name));
        }
        if !self.members.contains_key(&place) {
            self.charge(2 * object.len() as u64)?;
            let mut index: Vec<_> = object
                .members()
                .map(|(name, member)| (name.as_str().unwrap_or_default(), member.position()))
                .collect();
            index.sort_unstable();
            self.members.insert(place, index);
        }
        let found = self.members.get(&place).and_then(|index| {
            let at = index.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
            index.get(at).map(|(_, position)| *position)
        });
        Ok(found.map(|position| object.document().at(position)))
    }
}

/// Up to this many members are searched one by one.
const SMALL_OBJECT: usize = 16;
