//! `[seal]`: the keys that seal what leaves the process and must come back unchanged.
//!
//! Only references to keys stand in the file. The loader reads the table, the build step follows the
//! references.

use callgate_core::seal::{KEYS_MAX, KeyId};
use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;
use super::secret::SecretRef;

const EXAMPLE: &str = "{ id = \"7f3a91c2\", secret = \"env:CALLGATE_SEAL_KEY\" }";

/// The keys that seal state and cursors. Instances that serve the same callers have the same keys. A reload
/// takes up changed ones.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SealTable {
    /// The keys: the first seals, all of them open. At most eight. To rotate, put a fresh key second
    /// everywhere, then first everywhere, and take the old one out when its seals have expired.
    #[schemars(required, with = "Vec<SealKeyTable>", length(min = 1, max = 8))]
    pub keys: Option<Located<Vec<SealKeyTable>>>,
}

/// One key.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SealKeyTable {
    /// The id that `callgate seal key` printed: eight hexadecimal digits. It travels in every seal.
    #[schemars(required, regex(pattern = "^[0-9a-f]{8}$"))]
    pub id: Option<Located<String>>,
    /// Where the key is: 32 bytes as 64 hexadecimal digits or as Base64.
    #[schemars(required)]
    pub secret: Option<Located<SecretRef>>,
}

impl SealTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        if table.value("keys").is_none() {
            table.missing("keys", &format!("[{EXAMPLE}]"));
        }
        let keys = table.tables("keys", EXAMPLE);
        if let Some(keys) = keys.as_ref().filter(|keys| keys.is_empty() || keys.len() > KEYS_MAX) {
            let (message, remedy) = match keys.is_empty() {
                true => ("`keys` of [seal] is empty".to_owned(), format!("add one, as in `{EXAMPLE}`")),
                false => (
                    format!("[seal] has more than {KEYS_MAX} keys"),
                    "take out the last ones, whose seals have expired".to_owned(),
                ),
            };
            table.reading().report(keys.place().span(), Finding::error("seal_keys", message, remedy));
        }
        let keys = keys.map(|keys| {
            let place = keys.place().clone();
            Located::new(keys.into_value().into_iter().map(SealKeyTable::read).collect(), place)
        });
        table.finish();
        Self { keys }
    }
}

impl SealKeyTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let id = table.required_string("id", "\"7f3a91c2\"").filter(|id| {
            let parsed = id.parse::<KeyId>();
            if let Err(error) = parsed {
                let remedy = "write the id that `callgate seal key` printed with the key";
                let finding = Finding::error("invalid_key_id", format!("{:?}: {error}", id.as_str()), remedy);
                table.reading().report(id.place().span(), finding);
            }
            parsed.is_ok()
        });
        let secret = SecretRef::read(&mut table, "secret", "env:CALLGATE_SEAL_KEY");
        table.finish();
        Self { id, secret }
    }
}
