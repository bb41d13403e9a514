//! Machines in TOML files.

use super::Machine;

impl Machine {
    /// Reads a machine; what is not said is as in [`Machine::default`].
    ///
    /// ```
    /// use einsum_dist::Machine;
    /// let machine = Machine::from_toml("ranks = 2\nworkers = 72\nlink_bandwidth = 450e9")?;
    /// assert_eq!((machine.ranks, machine.workers, machine.flops), (2, 72, Machine::default().flops));
    /// assert_eq!(Machine::from_toml(&machine.to_toml())?, machine);
    /// assert_eq!(Machine::from_toml("flops = -1").unwrap_err(), "flops is -1, and must be above 0");
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// What is no TOML, names that no machine has, and rates and numbers that are not positive.
    pub fn from_toml(text: &str) -> Result<Machine, String> {
        let machine: Machine = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let counts =
            [("ranks", machine.ranks), ("workers", machine.workers), ("ranks_per_node", machine.ranks_per_node)];
        for (name, count) in counts {
            if count == 0 {
                return Err(format!("{name} is 0, and must be above 0"));
            }
        }
        let Machine { flops, memory_bandwidth, link_bandwidth, node_bandwidth, .. } = machine;
        let links = [("link_bandwidth", link_bandwidth), ("node_bandwidth", node_bandwidth)];
        let rates = [("flops", flops), ("memory_bandwidth", memory_bandwidth)].into_iter().chain(links);
        if let Some((name, rate)) = rates.into_iter().find(|(_, rate)| !(rate.is_finite() && *rate > 0.0)) {
            return Err(format!("{name} is {rate}, and must be above 0"));
        }
        let Machine { link_latency, node_latency, start, together, .. } = machine;
        let seconds =
            [("link_latency", link_latency), ("node_latency", node_latency), ("start", start), ("together", together)];
        for (name, seconds) in seconds {
            if !(seconds.is_finite() && seconds >= 0.0) {
                return Err(format!("{name} is {seconds}, and must not be below 0"));
            }
        }
        if !(machine.alone.is_finite() && machine.alone >= 1.0) {
            return Err(format!("alone is {}, and must not be below 1", machine.alone));
        }
        if !(machine.interference.is_finite() && machine.interference >= 0.0) {
            return Err(format!("interference is {}, and must not be below 0", machine.interference));
        }
        let blocks = &machine.block_rates;
        let positive = blocks.iter().flatten().all(|number| number.is_finite() && *number > 0.0);
        if !positive || !blocks.is_sorted_by(|a, b| a[0] < b[0]) {
            return Err("block_rates are sides in ascending order, each with its rate, all above 0".to_owned());
        }
        let speeds = &machine.speeds;
        if !speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0) || ![0, machine.ranks].contains(&speeds.len())
        {
            return Err(format!("speeds are one for each of {} ranks, all above 0, or none", machine.ranks));
        }
        Ok(machine)
    }

    /// The machine as [`Machine::from_toml`] reads it.
    pub fn to_toml(&self) -> String {
        // A machine is numbers; writing those cannot fail.
        toml::to_string(self).unwrap_or_default()
    }
}
