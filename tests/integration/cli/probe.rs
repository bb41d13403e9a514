//! Tests `machine probe`. Rates depend on the host, so tests require only that they are positive and finite.

use einsum_dist::Machine;
use einsum_dist::api::host;

use super::run;
use crate::command::Folder;

/// Requires that `text` is a machine file of this many ranks and workers, as `machine probe` writes it.
#[track_caller]
pub fn is_probed(text: &str, ranks: usize, workers: usize) {
    let first = text.lines().next().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(first.starts_with(&format!("# Measured by einsum-dist {version} with {ranks} rank")), "{first}");
    for says in ["# Hosts: ", "# Processors: ", "transport "] {
        assert!(text.contains(says), "{text}");
    }
    let machine = Machine::from_toml(text).unwrap();
    assert_eq!((machine.ranks, machine.workers), (ranks, workers));
    assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
    let Machine { flops, memory_bandwidth, new_memory_bandwidth, link_bandwidth, node_bandwidth, .. } = machine;
    for rate in [flops, memory_bandwidth, new_memory_bandwidth, link_bandwidth, node_bandwidth] {
        assert!(rate > 1e3 && rate.is_finite(), "{text}");
    }
    assert!(machine.link_latency > 0.0 && machine.interference >= 0.0 && machine.ranks_per_node >= 1, "{text}");
    assert!(machine.block_rates.len() > 3 && machine.copy_rates.len() > 2, "{text}");
    // Four digits of each number.
    assert_eq!(format!("{:.3e}", machine.flops).parse(), Ok(machine.flops));
}

#[test]
fn a_measured_file_describes_the_machine() {
    let folder = Folder::new("probe");
    let written = run(&folder, &["machine", "probe", "-n2", "-t1", "-o", "m.toml"]).succeeded();
    assert_eq!((written.out.as_str(), written.err.as_str()), ("written     m.toml\n", ""));
    assert_eq!(folder.files(), ["m.toml"]);
    is_probed(&std::fs::read_to_string(folder.path().join("m.toml")).unwrap(), 2, 1);
    let report = run(&folder, &["mk,kn->mn", "-s64", "--machine", "m.toml", "--simulate", "--json"]).succeeded().json();
    assert_eq!((&report["ranks"], &report["workers"]), (&2.into(), &1.into()));
    let text = run(&folder, &["mk,kn->mn", "-s64", "--machine", "m.toml", "--simulate"]).succeeded().out;
    assert!(text.contains("\nsimulated "), "{text}");
}

#[test]
fn without_a_file_it_is_printed() {
    let folder = Folder::new("probe-out");
    let text = run(&folder, &["machine", "probe", "-n", "1", "--workers=1"]).succeeded().out;
    is_probed(&text, 1, 1);
    assert!(text.contains("# Links: one rank has no links: rates of links, and interference, are defaults."), "{text}");
    let ran = run(&folder, &["machine", "probe", "--json", "-n1", "-t1", "-o", "m.toml"]).succeeded();
    let report = ran.json();
    let machine: Machine = serde_json::from_value(report["machine"].clone()).unwrap();
    assert_eq!(Machine::from_toml(&std::fs::read_to_string(folder.path().join("m.toml")).unwrap()).unwrap(), machine);
    assert_eq!(report["schema"], 1);
    let quiet = run(&folder, &["machine", "probe", "-q", "-n1", "-t1", "-o", "m.toml"]).succeeded();
    assert_eq!((quiet.out, quiet.err), (String::new(), String::new()));
}

#[test]
fn mistakes_are_refused() {
    let folder = Folder::new("probe-refused");
    // One worker more than are measured; thousands would take long to start.
    let crowd = format!("-t{}", 4 * host::cpus().len() + 1);
    for (arguments, says) in [
        (&["machine"][..], "<ACTION>"),
        (&["machine", "foo"], "'foo'"),
        (&["machine", "probe", "foo"], "unexpected argument 'foo'"),
        (&["machine", "probe", "-s", "3"], "unexpected argument '-s'"),
        (&["machine", "probe", "-o"], "--output"),
        (&["machine", "probe", "-o", "none/m.toml"], "none/m.toml: the directory none does not exist"),
        (&["machine", "probe", "-o", "-"], "--output -: "),
        (&["machine", "probe", "-t", "0"], "invalid value '0' for '--workers <N>'"),
        (&["machine", "probe", "-t", "5000"], "--workers 5000 are more than the 4096 threads"),
        (&["machine", "probe", "-n1", crowd.as_str()], "more than 4 workers per core are not measured"),
        (&["machine", "probe", "--transport", "pigeon"], "unknown transport `pigeon`"),
        (&["-t1", "machine", "probe"], "`machine probe` comes before all options"),
    ] {
        run(&folder, arguments).refused(says);
    }
    let report = run(&folder, &["machine", "foo", "--json"]).json();
    assert_eq!(report["error"]["kind"], "usage");
    assert!(folder.files().is_empty());
}

/// Only the first argument is the command.
#[test]
fn the_expression_machine_is_written_with_its_arrow() {
    let folder = Folder::new("probe-expression");
    for arguments in
        [&["machine->aceihmn", "-s2"][..], &["-s2", "--", "machine"], &["-s2", "machine"], &[" machine", "-s2"]]
    {
        let report = run(&folder, &[&["--json", "--check", "-t1"][..], arguments].concat()).succeeded().json();
        assert_eq!(report["dims"].as_object().unwrap().len(), 7, "{report}");
    }
}

#[test]
fn help_lists_the_command() {
    let folder = Folder::new("probe-help");
    let help = run(&folder, &["--help"]).succeeded().out;
    assert!(help.contains("einsum-dist machine probe [-o FILE.toml]") && help.contains("\n  machine "), "{help}");
    let own = run(&folder, &["machine", "probe", "--help"]).succeeded().out;
    for flag in ["--output <FILE.toml>", "--workers <N>", "--ranks <N>", "--transport <TRANSPORT>", "--json"] {
        assert!(own.contains(flag), "{own}");
    }
    assert!(!own.contains("--size"));
    let script = run(&folder, &["--completions", "bash"]).succeeded().out;
    assert!(script.contains("machine") && script.contains("probe"), "{script}");
    let page = run(&folder, &["--man-page"]).succeeded().out;
    assert!(page.contains("machine probe"), "{page}");
}
