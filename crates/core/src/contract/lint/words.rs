//! The word lists that lint judges names by.
//!
//! Names are compared without regard to case, underscores, hyphens and camel case.

/// `tenant_id`, `tenantId` and `TENANT-ID` are one name.
pub(super) fn normalized(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|character| character.to_ascii_lowercase()).collect()
}

/// The words of a name: `userEmail`, `user_email` and `user-email` have two.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for character in name.chars() {
        let boundary = !character.is_ascii_alphanumeric();
        if boundary || (lower_before && character.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if !boundary && let Some(word) = words.last_mut() {
            word.push(character.to_ascii_lowercase());
        }
        lower_before = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What a model must never decide: who calls, for whom, in which role, at which price, with whose
/// approval, under which policy.
const IDENTITY: &[&str] = &[
    "tenant",
    "tenantid",
    "tenantname",
    "tenantslug",
    "tenantkey",
    "isadmin",
    "admin",
    "issuperuser",
    "superuser",
    "isroot",
    "role",
    "roles",
    "userrole",
    "permission",
    "permissions",
    "isauthorized",
    "isauthenticated",
    "authenticateduser",
    "approved",
    "isapproved",
    "preapproved",
    "approval",
    "approvalid",
    "approvedby",
    "approver",
    "skipapproval",
    "autoapprove",
    "confirmed",
    "isconfirmed",
    "policy",
    "policyid",
    "policyoverride",
    "bypasspolicy",
    "bypass",
    "skipchecks",
    "skipvalidation",
    "impersonate",
    "onbehalfof",
    "actas",
    "runas",
    "principal",
    "principalid",
    "caller",
    "callerid",
    "currentuser",
    "currentuserid",
    "requestinguser",
    "price",
    "unitprice",
    "overrideprice",
];

/// What a model must never be asked for.
const CREDENTIAL: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "apikey",
    "apisecret",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "bearertoken",
    "idtoken",
    "sessiontoken",
    "privatekey",
    "secretkey",
    "credential",
    "credentials",
    "authorization",
    "otp",
    "onetimecode",
    "pin",
    "cvv",
    "cvc",
];

/// Names whose value would be exposed to every proxy on the way.
const SECRET_WORDS: &[&str] = &[
    "password",
    "secret",
    "token",
    "key",
    "credential",
    "credentials",
    "authorization",
    "otp",
    "pin",
    "cookie",
];
const PERSONAL_WORDS: &[&str] = &[
    "email",
    "mail",
    "phone",
    "mobile",
    "ssn",
    "iban",
    "passport",
    "birthday",
    "birthdate",
    "birth",
    "address",
    "street",
    "surname",
    "lastname",
    "firstname",
    "fullname",
    "person",
    "patient",
    "diagnosis",
    "salary",
    "gender",
];

/// Words that name no business action. A name made of nothing else says nothing.
const VAGUE: &[&str] = &[
    "run",
    "execute",
    "exec",
    "do",
    "process",
    "handle",
    "manage",
    "perform",
    "action",
    "tool",
    "helper",
    "util",
    "data",
    "query",
    "sql",
    "api",
    "call",
    "request",
    "generic",
    "misc",
    "stuff",
    "thing",
    "item",
    "object",
    "main",
    "invoke",
    "operation",
    "function",
    "command",
    "task",
    "job",
    "get",
    "fetch",
    "my",
    "new",
    "test",
    "info",
];

/// Words that promise a change.
const CHANGES: &[&str] = &[
    "create", "add", "insert", "update", "set", "delete", "remove", "drop", "purge", "cancel", "send", "pay",
    "refund", "transfer", "approve", "reject", "close", "archive", "write", "merge", "publish", "deploy",
];

pub(super) fn is_identity(name: &str) -> bool {
    IDENTITY.contains(&normalized(name).as_str())
}

pub(super) fn is_credential(name: &str) -> bool {
    CREDENTIAL.contains(&normalized(name).as_str())
}

pub(super) fn sounds_secret(name: &str) -> bool {
    is_credential(name) || words(name).iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

pub(super) fn sounds_personal(name: &str) -> bool {
    PERSONAL_WORDS.contains(&normalized(name).as_str())
        || words(name).iter().any(|word| PERSONAL_WORDS.contains(&word.as_str()))
}

pub(super) fn is_vague(name: &str) -> bool {
    let words = words(name);
    !words.is_empty() && words.iter().all(|word| VAGUE.contains(&word.as_str()) || word.len() == 1)
}

/// The first word of the name that promises a change.
pub(super) fn promised_change(name: &str) -> Option<String> {
    words(name).into_iter().find(|word| CHANGES.contains(&word.as_str()))
}
