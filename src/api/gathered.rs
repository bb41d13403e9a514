//! Values that processes sent to all others, as JSON.

use serde::de::DeserializeOwned;

use super::{Error, Result};

pub(super) fn parsed<V: DeserializeOwned>(all: &[Vec<u8>]) -> Result<Vec<V>> {
    let parsed = all.iter().map(|bytes| serde_json::from_slice(bytes)).collect::<std::result::Result<_, _>>();
    parsed.map_err(|error| Error::Usage(format!("a rank sent no measurements: {error}")))
}
