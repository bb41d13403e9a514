//! Machines in TOML files.

use super::{Machine, Synthetic};

impl Machine {
    /// Reads a machine; what is not said is as in [`Machine::default`].
    ///
    /// ```
    /// use einsum_dist::Machine;
    /// let machine = Machine::from_toml("ranks = 2\nworkers = 72\nlink_bandwidth = 450e9")?;
    /// assert_eq!((machine.ranks, machine.workers, machine.flops), (2, 72, Machine::default().flops));
    /// assert_eq!(Machine::from_toml(&machine.to_toml())?, machine);
    /// assert_eq!(Machine::from_toml("flops = -1").unwrap_err(), "flops is -1, and must be above 0");
    /// let machine = Machine::from_toml("topology = 'pack:2 numa:1 core:72'")?;
    /// assert_eq!((machine.ranks, machine.workers), (2, 71));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// What is no TOML, names that no machine has, and rates and numbers that are not positive.
    pub fn from_toml(text: &str) -> Result<Machine, String> {
        Machine::from_toml_with(text, None)
    }

    /// As [`Machine::from_toml`], with so many ranks whatever the text says.
    ///
    /// # Errors
    /// As [`Machine::from_toml`].
    pub fn from_toml_with(text: &str, ranks: Option<usize>) -> Result<Machine, String> {
        let failed = |error: toml::de::Error| error.to_string().trim_end().to_owned();
        let mut machine: Machine = toml::from_str(text).map_err(failed)?;
        let said: toml::Table = toml::from_str(text).map_err(failed)?;
        let topology = machine.topology.as_ref().map(Synthetic::topology);
        if let (Some(topology), false) = (&topology, said.contains_key("ranks")) {
            machine.ranks = topology.ranks();
        }
        machine.check()?;
        machine.ranks = ranks.unwrap_or(machine.ranks);
        if let (Some(topology), false) = (&topology, said.contains_key("workers")) {
            machine.workers = topology.workers(machine.ranks_of_host(), machine.ranks > 1);
        }
        Ok(machine)
    }

    fn check(&self) -> Result<(), String> {
        let counts = [("ranks", self.ranks), ("workers", self.workers), ("ranks_per_node", self.ranks_per_node)];
        for (name, count) in counts {
            if count == 0 {
                return Err(format!("{name} is 0, and must be above 0"));
            }
        }
        let &Machine { flops, memory_bandwidth, link_bandwidth, node_bandwidth, .. } = self;
        let links = [("link_bandwidth", link_bandwidth), ("node_bandwidth", node_bandwidth)];
        let rates = [("flops", flops), ("memory_bandwidth", memory_bandwidth)].into_iter().chain(links);
        if let Some((name, rate)) = rates.into_iter().find(|(_, rate)| !(rate.is_finite() && *rate > 0.0)) {
            return Err(format!("{name} is {rate}, and must be above 0"));
        }
        let &Machine { link_latency, node_latency, start, together, .. } = self;
        let seconds =
            [("link_latency", link_latency), ("node_latency", node_latency), ("start", start), ("together", together)];
        for (name, seconds) in seconds {
            if !(seconds.is_finite() && seconds >= 0.0) {
                return Err(format!("{name} is {seconds}, and must not be below 0"));
            }
        }
        if !(self.alone.is_finite() && self.alone >= 1.0) {
            return Err(format!("alone is {}, and must not be below 1", self.alone));
        }
        if !(self.interference.is_finite() && self.interference >= 0.0) {
            return Err(format!("interference is {}, and must not be below 0", self.interference));
        }
        let blocks = &self.block_rates;
        let positive = blocks.iter().flatten().all(|number| number.is_finite() && *number > 0.0);
        if !positive || !blocks.is_sorted_by(|a, b| a[0] < b[0]) {
            return Err("block_rates are sides in ascending order, each with its rate, all above 0".to_owned());
        }
        let speeds = &self.speeds;
        if !speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0) || ![0, self.ranks].contains(&speeds.len()) {
            return Err(format!("speeds are one for each of {} ranks, all above 0, or none", self.ranks));
        }
        Ok(())
    }

    /// The machine as [`Machine::from_toml`] reads it.
    pub fn to_toml(&self) -> String {
        // A machine is numbers; writing those cannot fail.
        toml::to_string(self).unwrap_or_default()
    }
}
