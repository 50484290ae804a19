//! Which members each kind of object has, and since which revision.
//!
//! It must never name a member for a revision whose schema does not define it. Only the renderer reads it.

use callgate_protocol::{Method, Revision};

use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25};

/// A member of an object.
#[derive(Debug)]
pub(in crate::legacy) struct Member {
    pub(super) name: &'static str,
    pub(super) since: Revision,
    pub(super) shape: Shape,
}

/// The members of one kind of object.
pub(in crate::legacy) type Table = &'static [Member];

/// How the value of a member is taken over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// As it is.
    Raw,
    /// An object with a table of its own.
    Object(Table),
    /// A list of such objects.
    Each(Table),
    /// One content block.
    Content,
    /// A list of content blocks.
    EachContent,
    /// As it is when it is an object, else not at all.
    OnlyObject,
    /// As it is when it is a schema of type `object`, else not at all.
    ObjectSchema,
    /// A `_meta` object.
    Meta,
}

const fn raw(name: &'static str, since: Revision) -> Member {
    Member { name, since, shape: Shape::Raw }
}

const fn member(name: &'static str, since: Revision, shape: Shape) -> Member {
    Member { name, since, shape }
}

pub(super) static ANNOTATIONS: Table =
    &[raw("audience", V2024_11_05), raw("priority", V2024_11_05), raw("lastModified", V2025_06_18)];

static TOOL: Table = &[
    raw("name", V2024_11_05),
    raw("title", V2025_06_18),
    raw("description", V2024_11_05),
    raw("inputSchema", V2024_11_05),
    member("outputSchema", V2025_06_18, Shape::ObjectSchema),
    raw("annotations", V2025_03_26),
    raw("icons", V2025_11_25),
    member("_meta", V2025_06_18, Shape::Meta),
];

static RESOURCE: Table = &[
    raw("uri", V2024_11_05),
    raw("uriTemplate", V2024_11_05),
    raw("name", V2024_11_05),
    raw("title", V2025_06_18),
    raw("description", V2024_11_05),
    raw("mimeType", V2024_11_05),
    raw("size", V2024_11_05),
    member("annotations", V2024_11_05, Shape::Object(ANNOTATIONS)),
    raw("icons", V2025_11_25),
    member("_meta", V2025_06_18, Shape::Meta),
];

pub(super) static LINK: Table = &[
    raw("type", V2025_06_18),
    raw("uri", V2025_06_18),
    raw("name", V2025_06_18),
    raw("title", V2025_06_18),
    raw("description", V2025_06_18),
    raw("mimeType", V2025_06_18),
    raw("size", V2025_06_18),
    member("annotations", V2025_06_18, Shape::Object(ANNOTATIONS)),
    raw("icons", V2025_11_25),
    member("_meta", V2025_06_18, Shape::Meta),
];

pub(super) static BLOCK: Table = &[
    raw("type", V2024_11_05),
    raw("text", V2024_11_05),
    raw("data", V2024_11_05),
    raw("mimeType", V2024_11_05),
    member("resource", V2024_11_05, Shape::Object(CONTENTS)),
    member("annotations", V2024_11_05, Shape::Object(ANNOTATIONS)),
    member("_meta", V2025_06_18, Shape::Meta),
];

static CONTENTS: Table = &[
    raw("uri", V2024_11_05),
    raw("mimeType", V2024_11_05),
    raw("text", V2024_11_05),
    raw("blob", V2024_11_05),
    member("_meta", V2025_06_18, Shape::Meta),
];

static PROMPT: Table = &[
    raw("name", V2024_11_05),
    raw("title", V2025_06_18),
    raw("description", V2024_11_05),
    member("arguments", V2024_11_05, Shape::Each(ARGUMENT)),
    raw("icons", V2025_11_25),
    member("_meta", V2025_06_18, Shape::Meta),
];

static ARGUMENT: Table = &[
    raw("name", V2024_11_05),
    raw("title", V2025_06_18),
    raw("description", V2024_11_05),
    raw("required", V2024_11_05),
];

static PROMPT_MESSAGE: Table = &[raw("role", V2024_11_05), member("content", V2024_11_05, Shape::Content)];

/// A name and version.
pub(in crate::legacy) static IMPLEMENTATION: Table = &[
    raw("name", V2024_11_05),
    raw("version", V2024_11_05),
    raw("title", V2025_06_18),
    raw("description", V2025_11_25),
    raw("icons", V2025_11_25),
    raw("websiteUrl", V2025_11_25),
];

/// What a server offers.
pub(in crate::legacy) static SERVER_CAPABILITIES: Table = &[
    raw("tools", V2024_11_05),
    raw("resources", V2024_11_05),
    raw("prompts", V2024_11_05),
    raw("logging", V2024_11_05),
    raw("completions", V2025_03_26),
    raw("experimental", V2024_11_05),
];

static LIST_TOOLS: Table = &[
    member("tools", V2024_11_05, Shape::Each(TOOL)),
    raw("nextCursor", V2024_11_05),
    member("_meta", V2024_11_05, Shape::Meta),
];

static CALL_TOOL: Table = &[
    member("content", V2024_11_05, Shape::EachContent),
    member("structuredContent", V2025_06_18, Shape::OnlyObject),
    raw("isError", V2024_11_05),
    member("_meta", V2024_11_05, Shape::Meta),
];

static LIST_RESOURCES: Table = &[
    member("resources", V2024_11_05, Shape::Each(RESOURCE)),
    member("resourceTemplates", V2024_11_05, Shape::Each(RESOURCE)),
    raw("nextCursor", V2024_11_05),
    member("_meta", V2024_11_05, Shape::Meta),
];

static READ_RESOURCE: Table =
    &[member("contents", V2024_11_05, Shape::Each(CONTENTS)), member("_meta", V2024_11_05, Shape::Meta)];

static LIST_PROMPTS: Table = &[
    member("prompts", V2024_11_05, Shape::Each(PROMPT)),
    raw("nextCursor", V2024_11_05),
    member("_meta", V2024_11_05, Shape::Meta),
];

static GET_PROMPT: Table = &[
    raw("description", V2024_11_05),
    member("messages", V2024_11_05, Shape::Each(PROMPT_MESSAGE)),
    member("_meta", V2024_11_05, Shape::Meta),
];

static COMPLETE: Table = &[raw("completion", V2024_11_05), member("_meta", V2024_11_05, Shape::Meta)];

static EMPTY: Table = &[member("_meta", V2024_11_05, Shape::Meta)];

/// The members of the result of a method.
pub(super) fn of_result(method: Method) -> Table {
    match method {
        Method::ToolsList => LIST_TOOLS,
        Method::ToolsCall => CALL_TOOL,
        Method::ResourcesList | Method::ResourcesTemplatesList => LIST_RESOURCES,
        Method::ResourcesRead => READ_RESOURCE,
        Method::PromptsList => LIST_PROMPTS,
        Method::PromptsGet => GET_PROMPT,
        Method::Complete => COMPLETE,
        // No other method is passed on.
        _ => EMPTY,
    }
}
