//! Reads and writes machines as TOML.

use super::{Machine, Synthetic};

impl Machine {
    /// Reads a machine. Missing entries are those of [`Machine::default`], except that a topology determines missing
    /// numbers of ranks and workers.
    ///
    /// ```
    /// use einsum_dist::Machine;
    /// let machine = Machine::from_toml("ranks = 2\nworkers = 72\nlink_bandwidth = 450e9")?;
    /// assert_eq!((machine.ranks, machine.workers, machine.flops), (2, 72, Machine::default().flops));
    /// assert_eq!(Machine::from_toml(&machine.to_toml())?, machine);
    /// assert_eq!(Machine::from_toml("flops = -1").unwrap_err(), "flops is -1.0, and must be from 0.001 to 1e24");
    /// let machine = Machine::from_toml("topology = 'pack:2 numa:1 core:72'")?;
    /// assert_eq!((machine.ranks, machine.workers), (2, 71));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not TOML, has unknown names, or has numbers that [`Machine::check`] rejects.
    pub fn from_toml(text: &str) -> Result<Machine, String> {
        Machine::from_toml_with(text, None)
    }

    /// Like [`Machine::from_toml`], but `ranks`, if given, replaces the text's.
    ///
    /// # Errors
    /// The same as for [`Machine::from_toml`].
    pub fn from_toml_with(text: &str, ranks: Option<usize>) -> Result<Machine, String> {
        let failed = |error: toml::de::Error| error.to_string().trim_end().to_owned();
        let mut machine: Machine = toml::from_str(text).map_err(failed)?;
        let table: toml::Table = toml::from_str(text).map_err(failed)?;
        let topology = machine.topology.as_ref().map(Synthetic::topology);
        if let (Some(topology), false) = (&topology, table.contains_key("ranks")) {
            machine.ranks = topology.ranks();
        }
        if ![0, machine.ranks].contains(&machine.speeds.len()) {
            return Err(format!("speeds are one for each of {} ranks, all above 0, or none", machine.ranks));
        }
        machine.ranks = ranks.unwrap_or(machine.ranks);
        machine.check()?;
        if let (Some(topology), false) = (&topology, table.contains_key("workers")) {
            machine.workers = topology.workers(machine.ranks_of_host(), machine.ranks > 1);
        }
        Ok(machine)
    }

    /// Writes what [`Machine::from_toml`] reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}
