//! The checks of the parts of a server, each of which keeps every fault that it finds.
//!
//! None of them may stop at the first fault. The builder calls them, and the handle when it changes the
//! tools of a running server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgate_core::limits::Limits;
use callgate_core::port::Ledger;
use callgate_core::refusal::Code;
use callgate_core::snapshot::{Catalogue, Tool as GateTool};

use super::{BuildFault, Registered};
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate, Resources, is_uri};

pub(super) fn compile(
    registered: Vec<Registered>,
    limits: &Limits,
    faults: &mut Vec<BuildFault>,
) -> Vec<Arc<GateTool>> {
    let mut tools = Vec::with_capacity(registered.len());
    for tool in registered {
        match tool {
            Registered::Compiled(tool) => tools.push(tool),
            Registered::Described(tool) => {
                let place = format!("tool `{}`", tool.name());
                match tool.compile(limits) {
                    Ok(tool) => tools.push(Arc::new(tool)),
                    Err(found) => faults
                        .extend(found.iter().map(|fault| BuildFault::new(place.clone(), fault.to_string()))),
                }
            }
        }
    }
    tools
}

/// All tools by name, if none has a fault. Also called when a running server changes its tools.
pub(crate) fn catalogue(
    tools: Vec<Arc<GateTool>>,
    limits: &Limits,
    ledger: &dyn Ledger,
    faults: &mut Vec<BuildFault>,
) -> Option<Catalogue> {
    if tools.len() > limits.tools {
        let message = format!("there are {} tools; at most {} are served", tools.len(), limits.tools);
        faults.push(BuildFault::new("tools", message));
    }
    for tool in &tools {
        let contract = tool.contract();
        // A ledger that is only down now is asked again by each call.
        if let Err(refusal) = ledger.ready(contract)
            && refusal.code() == Code::LedgerRequired
        {
            faults.push(BuildFault::new(
                format!("tool `{}`", contract.name()),
                format!(
                    "its effect is `{}`, and there is no ledger that records effects; give `.ledger(..)`, or leave \
                     the tool out",
                    contract.effect()
                ),
            ));
        }
    }
    match Catalogue::new(tools) {
        Ok(catalogue) => Some(catalogue),
        Err(duplicates) => {
            faults.extend(duplicates.0.iter().map(|name| {
                BuildFault::new(
                    format!("tool `{name}`"),
                    "another tool has the same name; rename one of them",
                )
            }));
            None
        }
    }
}

pub(super) fn check_prompts(prompts: &[Arc<Prompt>], faults: &mut Vec<BuildFault>) {
    let mut seen = BTreeSet::new();
    for prompt in prompts {
        let place = || format!("prompt `{}`", prompt.name());
        if !seen.insert(prompt.name()) {
            faults.push(BuildFault::new(place(), "another prompt has the same name; rename one of them"));
        }
        for argument in prompt.unknown_completions() {
            let message = format!("it completes `{argument}`, which is none of its arguments");
            faults.push(BuildFault::new(place(), message));
        }
    }
}

pub(super) fn resources(
    fixed: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    faults: &mut Vec<BuildFault>,
) -> Resources {
    let mut all = Resources::default();
    let mut by_uri: BTreeMap<String, Arc<Resource>> = BTreeMap::new();
    for resource in fixed {
        let place = format!("resource `{}`", resource.uri);
        if !is_uri(&resource.uri) {
            faults.push(BuildFault::new(place.clone(), "this is no URI of RFC 3986 with a scheme"));
        }
        if by_uri.insert(resource.uri.clone(), Arc::new(resource)).is_some() {
            faults.push(BuildFault::new(place, "another resource has the same URI"));
        }
    }
    all.fixed = by_uri;
    for template in templates {
        let place = format!("resource template `{}`", template.template);
        if let Some(fault) = template.fault() {
            faults.push(BuildFault::new(place.clone(), fault.to_string()));
        }
        for variable in template.unknown_completions() {
            let message = format!("it completes `{variable}`, which is none of its variables");
            faults.push(BuildFault::new(place.clone(), message));
        }
        if all.template(&template.template).is_some() {
            faults.push(BuildFault::new(place, "another template is the same"));
        }
        all.templates.push(Arc::new(template));
    }
    all
}
