//! `completion/complete`: values for an argument of a prompt or a variable of a resource template.
//!
//! An argument that exists and is not completed has no values; one that does not exist is an error of the
//! parameters.

use callgate_core::invocation::CapabilitySet;
use callgate_core::offer::OfferKind;
use callgate_core::port::{Credentials, Peer};
use callgate_core::usage::permit;
use callgate_protocol::Request;
use callgate_protocol::json::{Document, Kind, Value, push_integer, push_string};
use callgate_protocol::meta::RequestMeta;

use super::read::UNKNOWN_PROMPT;
use super::{Answered, Endpoint, Fault, From, Inquiry, Published, Reply, declared};
use crate::completion::{Completer, Completing};
use crate::context::Context;
use crate::respond;

/// Values for an argument, the best first, and how many there are in all.
#[derive(Debug)]
pub(crate) struct Completions {
    pub(crate) values: Vec<String>,
    pub(crate) total: usize,
}

impl Completions {
    /// The `completion` object; the same at every revision.
    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("{\"values\":[");
        for (at, value) in self.values.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(out, value);
        }
        out.push_str("],\"total\":");
        push_integer(out, self.total);
        out.push_str(if self.total > self.values.len() {
            ",\"hasMore\":true}"
        } else {
            ",\"hasMore\":false}"
        });
    }
}

impl Endpoint {
    /// Completes an argument. `params` are those of the request, the same at every revision.
    pub(crate) async fn complete(
        &self,
        published: &Published,
        params: Option<Value<'_>>,
        credentials: Credentials<'_>,
        declared: CapabilitySet,
        peer: &dyn Peer,
    ) -> Result<Completions, Fault> {
        let params = params.ok_or(Fault::params("`ref` and `argument` are required"))?;
        let text = |path: [&'static str; 2]| {
            let value = params.path(path).and_then(Value::as_str);
            value.ok_or_else(|| Fault::params(format!("`{}.{}` must be a string", path[0], path[1])))
        };
        let (argument, value) = (text(["argument", "name"])?, text(["argument", "value"])?);
        let completing = Completing { value: value.into_owned(), arguments: chosen(params)? };
        let inquiry = Inquiry {
            name: &argument,
            arguments: Document::empty_object().root(),
            input_responses: None,
            request_state: None,
            credentials,
            declared,
            peer,
        };
        let opened = self.open_inquiry(published, "completion/complete", inquiry, None).await?;
        // Looked for only now: what exists is told to nobody whose credential is not good.
        let (kind, name, unknown) = match &*text(["ref", "type"])? {
            "ref/prompt" => (OfferKind::Prompt, text(["ref", "name"])?, UNKNOWN_PROMPT),
            "ref/resource" => (OfferKind::Template, text(["ref", "uri"])?, UNKNOWN_TEMPLATE),
            _ => return Err(Fault::params("`ref.type` must be ref/prompt or ref/resource")),
        };
        // Values may tell as much as what they lead to: who may not use it is given none.
        let known = published.gate.catalogue.offer(kind, &name).map(|offer| offer.name());
        let permitted = permit(&published.gate, opened.principal(), kind, known, &completing.arguments).await;
        permitted.map_err(|why| Fault::of(why, || Fault::NotFound(unknown)))?;
        let completer = match kind {
            OfferKind::Prompt => of_prompt(published, &name, &argument)?,
            _ => of_template(published, &name, &argument)?,
        };
        let Some(completer) = completer else { return Ok(Completions { values: Vec::new(), total: 0 }) };
        let exchange = opened.exchange(self.pipeline().keeping(&published.gate));
        let result =
            opened.run(async { completer.act(Context::of_exchange(&exchange), completing).await }).await;
        match self.close_inquiry(published, &opened, exchange.into_noted(), result)? {
            Reply::Complete(mut values) => {
                let total = values.len();
                values.truncate(published.limits.completion_values);
                Ok(Completions { values, total })
            }
            // "Servers MUST NOT" ask for input here:
            // <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#supported-requests>
            Reply::InputRequired { .. } => Err(Fault::Refused(callgate_core::refusal::Refusal::new(
                callgate_core::refusal::Code::ToolFailed,
                "a completion cannot ask the client for input",
            ))),
        }
    }

    pub(super) async fn answer_complete(
        &self,
        published: &Published,
        request: &Request,
        meta: &RequestMeta<'_>,
        from: From<'_>,
        peer: &dyn Peer,
    ) -> Result<Answered, Fault> {
        let declared = declared(meta);
        let completions =
            self.complete(published, request.params(), from.credentials, declared, peer).await?;
        Ok(respond::to_inquiry(request.id(), published, Reply::Complete(completions), |out, completions| {
            out.push_str(",\"completion\":");
            completions.write(out);
        }))
    }
}

const UNKNOWN_TEMPLATE: &str = "unknown resource template";

fn of_prompt<'p>(
    published: &'p Published,
    name: &str,
    argument: &str,
) -> Result<Option<&'p Completer>, Fault> {
    let prompt = published.prompt(name).ok_or(Fault::NotFound(UNKNOWN_PROMPT))?;
    if !prompt.arguments().iter().any(|known| known.name == argument) {
        return Err(Fault::NotFound("the prompt has no argument of that name"));
    }
    Ok(prompt.completer(argument))
}

fn of_template<'p>(
    published: &'p Published,
    uri: &str,
    variable: &str,
) -> Result<Option<&'p Completer>, Fault> {
    let template = published.resources.template(uri).ok_or(Fault::NotFound(UNKNOWN_TEMPLATE))?;
    if !template.has_variable(variable) {
        return Err(Fault::NotFound("the template has no variable of that name"));
    }
    Ok(template.completer(variable))
}

/// The arguments that are already chosen.
fn chosen(params: Value<'_>) -> Result<std::collections::BTreeMap<String, String>, Fault> {
    let fault = || Fault::params("`context.arguments` must be an object of strings");
    let Some(arguments) = params.path(["context", "arguments"]) else { return Ok(Default::default()) };
    if arguments.kind() != Kind::Object {
        return Err(fault());
    }
    arguments
        .members()
        .map(|(name, value)| {
            let value = value.as_str().ok_or_else(fault)?;
            Ok((name.as_str().unwrap_or_default().into_owned(), value.into_owned()))
        })
        .collect()
}
