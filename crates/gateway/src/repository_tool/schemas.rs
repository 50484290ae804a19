//! The contracts of the operations: titles, descriptions, inputs and outputs.
//!
//! They are part of the definition that a client sees and that is hashed, so a change here is a change of
//! every tool that uses the operation. The judge of tools calls it.

use callgate_protocol::json::push_string;

pub(crate) const SEARCH_TITLE: &str = "Search code";
pub(crate) const SEARCH_DESCRIPTION: &str = "Searches the text files of one project line by line and returns the lines \
    that match, in the order of path and line, with the commit and the time. Use it to find where a name, message or \
    setting stands. It does not search ignored, hidden or binary files, nor matches across lines; results are bounded \
    and go on with a cursor.";
pub(crate) const READ_TITLE: &str = "Read code";
pub(crate) const READ_DESCRIPTION: &str = "Reads lines of one text file of one project, with the digest of the whole file, \
    the commit and the time. Use it with a path that a search returned. It does not list folders and does not read \
    ignored, hidden or binary files; long files are read in parts by line numbers.";

const CURSOR: &str = r#""cursor":{"type":"string","maxLength":8192,"description":"The nextCursor of the page before, unchanged, to get the next page; leave it out for the first page"}"#;
const REVISION: &str = r#""revision":{"type":"string","pattern":"^[0-9a-f]{40}([0-9a-f]{24})?$","description":"The commit of the checkout; absent where it is not known. Files may have been edited since"}"#;
const TRUNCATED: &str =
    r#""truncated":{"type":"boolean","description":"True when a limit of this server left something out"}"#;

/// The schema of the argument that names a project.
pub(crate) fn project(projects: &[String], is_listed: bool) -> String {
    let mut schema = String::from(r#"{"type":"string","#);
    if is_listed {
        schema.push_str("\"enum\":[");
        for (index, name) in projects.iter().enumerate() {
            if index > 0 {
                schema.push(',');
            }
            push_string(&mut schema, name);
        }
        schema.push_str("],");
    } else {
        schema.push_str("\"minLength\":1,\"maxLength\":64,");
    }
    schema.push_str(r#""description":"The name of the project"}"#);
    schema
}

pub(crate) fn search_input(project: &str) -> String {
    let query = r#""query":{"type":"string","minLength":1,"maxLength":1024,"description":"The text to find inside one line, or a regular expression if regex is true"}"#;
    let regex = r#""regex":{"type":"boolean","description":"True if query is a regular expression; look-around and back-references are not supported. Left out: false"}"#;
    let case = r#""case":{"type":"string","enum":["sensitive","insensitive","smart"],"description":"Whether case matters; smart: only if query has a capital letter. Left out: sensitive"}"#;
    let path = r#""path":{"type":"string","minLength":1,"maxLength":1024,"description":"Only this file or what is below this folder, as src/api; or a pattern as in .gitignore, such as *.rs or src/**/*.ts, with ! before it for all others"}"#;
    let context = r#""context":{"type":"integer","minimum":0,"maximum":5,"description":"Lines to show before and after each match. Left out: 0"}"#;
    format!(
        r#"{{"type":"object","properties":{{"project":{project},{query},{regex},{case},{path},{context},{CURSOR}}},"required":["project","query"],"additionalProperties":false}}"#
    )
}

pub(crate) fn search_output(max_matches: usize) -> String {
    let lines = r#"{"type":"array","maxItems":5,"items":{"type":"string"}}"#;
    let found = format!(
        r#"{{"type":"object","properties":{{"path":{{"type":"string","description":"From the root of the project, with slashes"}},"line":{{"type":"integer","minimum":1}},"column":{{"type":"integer","minimum":1,"description":"Byte of the line where the first match in it begins, from 1"}},"offset":{{"type":"integer","minimum":0,"description":"Byte of the file where it begins, from 0"}},"length":{{"type":"integer","minimum":0,"description":"Bytes of the match"}},"text":{{"type":"string","description":"The line, or the part around the match"}},"textColumn":{{"type":"integer","minimum":1,"description":"Byte of the line where text begins, if text is a part"}},"textCut":{{"type":"boolean","description":"True when text is a part of the line"}},"invalidUtf8":{{"type":"boolean","description":"True when bytes of the line that are no UTF-8 were replaced"}},"modifiedAt":{{"type":"string","format":"date-time","description":"When the file was changed last"}},"before":{lines},"after":{lines}}},"required":["path","line","column","offset","length","text"],"additionalProperties":false}}"#
    );
    format!(
        r#"{{"type":"object","properties":{{"project":{{"type":"string"}},{REVISION},"searchedAt":{{"type":"string","format":"date-time"}},"matches":{{"type":"array","maxItems":{max_matches},"items":{found}}},"filesSearched":{{"type":"integer","minimum":0,"description":"Files that this page searched"}},"filesSkipped":{{"type":"integer","minimum":0,"description":"Files and folders that could not be searched: binary, too large, unreadable, too deep"}},"nextCursor":{{"type":"string","description":"There may be more: pass this as cursor"}},{TRUNCATED},"truncatedBy":{{"type":"string","enum":["matches","bytes","files","scan","time"],"description":"Which limit ended the search"}}}},"required":["project","searchedAt","matches","filesSearched","filesSkipped","truncated"],"additionalProperties":false}}"#
    )
}

pub(crate) fn read_input(project: &str) -> String {
    let path = r#""path":{"type":"string","minLength":1,"maxLength":1024,"description":"The path of the file from the root of the project, with slashes, as a search returned it"}"#;
    let lines = r#""start_line":{"type":"integer","minimum":1,"maximum":1000000000,"description":"First line to read. Left out: 1"},"end_line":{"type":"integer","minimum":1,"maximum":1000000000,"description":"Last line to read. Left out: the last of the file"}"#;
    format!(
        r#"{{"type":"object","properties":{{"project":{project},{path},{lines}}},"required":["project","path"],"additionalProperties":false}}"#
    )
}

pub(crate) fn read_output() -> String {
    format!(
        r#"{{"type":"object","properties":{{"project":{{"type":"string"}},"path":{{"type":"string"}},{REVISION},"readAt":{{"type":"string","format":"date-time"}},"modifiedAt":{{"type":"string","format":"date-time","description":"When the file was changed last"}},"startLine":{{"type":"integer","minimum":1}},"endLine":{{"type":"integer","minimum":0,"description":"The last line in text; go on after it"}},"totalLines":{{"type":"integer","minimum":0}},"size":{{"type":"integer","minimum":0,"description":"Bytes of the whole file"}},"digest":{{"type":"string","description":"SHA-256 of the whole file"}},"text":{{"type":"string"}},"lineCut":{{"type":"boolean","description":"True when the last line is not whole"}},"invalidUtf8":{{"type":"boolean","description":"True when bytes that are no UTF-8 were replaced"}},"changedWhileRead":{{"type":"boolean","description":"True when the file was being written"}},{TRUNCATED},"truncatedBy":{{"type":"string","enum":["lines","bytes"],"description":"Which limit ended the text"}}}},"required":["project","path","readAt","startLine","endLine","totalLines","size","digest","text","truncated"],"additionalProperties":false}}"#
    )
}
