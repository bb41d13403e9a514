//! Generates a random command with its arguments, its files and its expected result.

use std::path::Path;

use super::einsum::{Array, Expected, evaluate};
use super::expression::{Expression, spoiled};
use super::flags::{Context, FLAGS, Outcome};
use super::operands::{self, DAMAGES, DTYPES, Dtype, FOREIGN, Numbers};
use super::rng::Rng;

/// The flags and programs with which all commands are generated.
pub struct Setting {
    /// The flags that `--help` lists.
    pub listed: Vec<String>,
    /// Launchers, each with the program that was built for its MPI.
    pub launchers: Vec<(String, String)>,
}

pub struct Command {
    pub arguments: Vec<String>,
    /// Index of the launcher, and number of ranks.
    pub launched: Option<(usize, usize)>,
    pub outcome: Outcome,
    /// The expected result. `None` if the result is unknown or the command only plans.
    pub result: Option<Output>,
    pub numbers: Numbers,
    pub checks: bool,
    /// Whether the scale of the result is kept apart.
    pub exponent: bool,
    pub json: bool,
    pub verbose: bool,
    /// Whether the command only plans, or its result is unknown.
    pub no_result: bool,
    /// Files and folders that the command may create.
    pub allowed_files: Vec<String>,
}

/// The expected result of a command.
pub struct Output {
    pub dtype: Dtype,
    pub expected: Expected,
    /// The file to which the command writes the result, or `None` if it writes no file.
    pub file: Option<String>,
    /// Whether any extent is 0, so that an intermediate may be a sum of no terms.
    pub sums_nothing: bool,
}

const MACHINE: &str = "ranks = 3\nworkers = 2\nlink_bandwidth = 2e9\ntopology = 'numa:2 core:4'\n";

impl Command {
    /// Generates a command, and writes its files to the folder.
    pub fn random(rng: &mut Rng, setting: &Setting, folder: &Path) -> Command {
        let files = rng.one_in(2);
        let expression = Expression::random(rng, files);
        // These numbers are drawn even if there are no launchers, so that a seed always generates the same commands.
        let (share, which, ranks) = (rng.one_in(50), rng.below(2), 1 + rng.below(4));
        let launched = (share && !setting.launchers.is_empty()).then(|| (which % setting.launchers.len(), ranks));
        let context = Context { expression: &expression, launched: launched.is_some() };
        let mut made = Command {
            arguments: Vec::new(),
            launched,
            outcome: Outcome::Works,
            result: None,
            numbers: Numbers::Plain,
            checks: false,
            exponent: false,
            json: rng.one_in(3),
            verbose: false,
            no_result: false,
            allowed_files: Vec::new(),
        };
        std::fs::write(folder.join("m.toml"), MACHINE).expect("a machine file");
        let mut groups = made.flags(rng, setting, &context);
        let (operands, dtype) = if files {
            made.files(rng, &expression, folder)
        } else {
            made.random_operands(rng, &expression, &mut groups)
        };
        let mut text = expression.text(rng);
        let spoil = rng.one_in(25);
        if spoil {
            text = spoiled(rng, &text);
            made.outcome = made.outcome.max(Outcome::Open);
            // A spoiled expression may be `--`, after which `--json` is not a flag.
            made.json &= text != "--";
        }
        made.ranks(rng, &expression, &mut groups);
        let names = (0..operands.len()).filter(|_| files).map(|operand| format!("{operand}.npy"));
        let mut positional: Vec<String> = std::iter::once(text).chain(names).collect();
        if files && rng.one_in(60) {
            // If the only operand is removed, the program generates random operands instead of reading a file.
            positional.pop();
            made.outcome = Outcome::Open;
            made.no_result = true;
        }
        if !spoil && made.outcome != Outcome::Refused {
            made.expect(rng, &expression, &operands, dtype, folder, &mut groups);
        }
        if made.json {
            groups.push(vec!["--json".to_owned()]);
        }
        made.arrange(rng, groups, positional);
        made
    }

    /// Generates flags that do not affect the comparison of results.
    fn flags(&mut self, rng: &mut Rng, setting: &Setting, context: &Context<'_>) -> Vec<Vec<String>> {
        let mut groups = Vec::new();
        let mut chosen = Vec::new();
        for flag in
            FLAGS.iter().filter(|flag| flag.name == "--nonsense" || setting.listed.iter().any(|name| name == flag.name))
        {
            if !rng.one_in(flag.one_in) {
                continue;
            }
            let (value, outcome) = (flag.value)(rng, context);
            self.outcome = self.outcome.max(outcome);
            let twice = rng.one_in(200);
            let mut group = vec![flag.name.to_owned()];
            match value {
                Some(value) if rng.one_in(3) => group[0] += &format!("={value}"),
                Some(value) => group.push(value),
                None => {}
            }
            if twice {
                self.outcome = self.outcome.max(Outcome::Open);
                groups.push(group.clone());
            }
            groups.push(group);
            chosen.push(flag.name);
        }
        let has = |name: &str| chosen.contains(&name);
        self.checks = has("--check");
        self.exponent = has("--exponent");
        self.verbose = has("--verbose");
        self.no_result = ["--explain", "--simulate", "--scaling"].into_iter().any(has);
        let shows = has("--trace") || has("--timeline");
        if has("--verbose") && has("--quiet")
            || has("--machine") && !self.no_result
            || shows && has("--explain") && !has("--simulate")
        {
            self.outcome = Outcome::Refused;
        }
        for (flag, names) in [
            ("--trace", &["t.json"][..]),
            ("--timeline", &["t.svg"]),
            ("--csv", &["t.csv"]),
            ("--path-cache", &["cache"]),
            ("--path-out", &["p.json"]),
            ("--checkpoint", &["sums.checkpoint"]),
        ] {
            self.allowed_files.extend(names.iter().filter(|_| has(flag)).map(|name| (*name).to_owned()));
        }
        groups
    }

    /// Writes the operands to files, and sometimes makes one of the files invalid. Returns the operands and their
    /// common type.
    fn files(&mut self, rng: &mut Rng, expression: &Expression, folder: &Path) -> (Vec<Array>, Dtype) {
        self.numbers = match rng.below(24) {
            0 => Numbers::Infinite,
            1 => Numbers::Huge,
            _ => Numbers::Plain,
        };
        let wrong = rng.one_in(12).then(|| rng.below(expression.shapes.len()));
        let one = DTYPES[rng.below(4)];
        let mixed = rng.one_in(4);
        let mut promoted: Option<Dtype> = None;
        let mut arrays = Vec::new();
        for (operand, shape) in expression.shapes.iter().enumerate() {
            let dtype = if mixed { DTYPES[rng.below(4)] } else { one };
            let array = operands::random(rng, dtype, shape, self.numbers);
            let path = folder.join(format!("{operand}.npy"));
            if wrong == Some(operand) && rng.one_in(3) {
                std::fs::write(&path, operands::foreign(FOREIGN[rng.below(FOREIGN.len())], shape)).expect("a file");
                self.outcome = self.outcome.max(Outcome::Open);
            } else if wrong == Some(operand) {
                operands::damaged(&path, DAMAGES[rng.below(DAMAGES.len())], shape);
                // If the file has an additional dimension, an ellipsis may match it, and the command may then succeed.
                let dots = expression.leaves()[operand].contains(&super::expression::Index::Dots);
                self.outcome = self.outcome.max(if dots { Outcome::Open } else { Outcome::Refused });
            } else {
                std::fs::write(&path, operands::file(&array, dtype, rng.one_in(2))).expect("an operand");
            }
            promoted = Some(promoted.map_or(dtype, |all| all.promote(dtype)));
            arrays.push(array);
        }
        if wrong.is_some() && self.outcome != Outcome::Refused {
            // The contents of the invalid file differ from `array`, so the result is unknown.
            self.no_result = true;
            self.outcome = Outcome::Open;
        }
        (arrays, promoted.unwrap_or(DTYPES[0]))
    }

    /// Generates the flags of a command without input files: extents and element type of the random operands.
    fn random_operands(
        &mut self,
        rng: &mut Rng,
        expression: &Expression,
        groups: &mut Vec<Vec<String>>,
    ) -> (Vec<Array>, Dtype) {
        let seed = rng.next() >> [0, 32, 63][rng.below(3)];
        let used = |name: &usize| {
            expression.leaves().iter().any(|term| term.contains(&super::expression::Index::Label(*name)))
        };
        let labels = (0..expression.names.len()).filter(used);
        let sizes: Vec<String> =
            labels.map(|label| format!("{}={}", expression.names[label], expression.extents[label])).collect();
        if !sizes.is_empty() {
            groups.push(vec!["--size".to_owned(), sizes.join(",")]);
        }
        if rng.one_in(40) {
            groups.push(vec![
                "-s".to_owned(),
                ["w=3", "m0=", "k=-1", "1,2,3", "i=2,i=3", "99999999999999", "18446744073709551615"][rng.below(7)]
                    .to_owned(),
            ]);
            self.outcome = self.outcome.max(Outcome::Open);
            self.no_result = true;
        }
        let mut dtype = DTYPES[0];
        if rng.one_in(2) {
            dtype = DTYPES[rng.below(4)];
            groups.push(vec!["--dtype".to_owned(), if rng.one_in(2) { dtype.to_string() } else { dtype.short() }]);
        } else if rng.one_in(40) {
            groups.push(vec!["--dtype".to_owned(), "int8".to_owned()]);
            self.outcome = Outcome::Refused;
        }
        if rng.one_in(100) {
            groups.push(vec!["--seed".to_owned(), ["-1", "18446744073709551616", "x"][rng.below(3)].to_owned()]);
            self.outcome = Outcome::Refused;
        } else if seed != 0 {
            groups.push(vec![format!("--seed={seed}")]);
        }
        let shapes = expression.shapes.iter().enumerate();
        (shapes.map(|(operand, shape)| operands::seeded(seed, operand, dtype, shape)).collect(), dtype)
    }

    fn ranks(&mut self, rng: &mut Rng, expression: &Expression, groups: &mut Vec<Vec<String>>) {
        let ranks = [1, 1, 2, 2, 3, 4, 5][rng.below(7)];
        if self.launched.is_some() {
            if rng.one_in(20) {
                groups.push(vec!["-n2".to_owned()]);
                self.outcome = Outcome::Refused;
            }
        } else if rng.one_in(50) {
            groups
                .push(vec!["--ranks".to_owned(), ["0", "-1", "two", "18446744073709551616"][rng.below(4)].to_owned()]);
            self.outcome = Outcome::Refused;
        } else {
            groups.push(vec![format!("-n{ranks}")]);
        }
        // The program may reject more ranks than there are elements.
        let max_elements = expression.shapes.iter().map(|shape| shape.iter().product::<usize>()).max().unwrap_or(1);
        if max_elements < 6 {
            self.outcome = self.outcome.max(Outcome::Open);
        }
    }

    /// Computes the expected result, and adds it to the command unless the command has no result.
    fn expect(
        &mut self,
        rng: &mut Rng,
        expression: &Expression,
        operands: &[Array],
        dtype: Dtype,
        folder: &Path,
        groups: &mut Vec<Vec<String>>,
    ) {
        let mut expected = evaluate(&expression.root, operands);
        if rng.one_in(12) {
            let prior = operands::random(rng, dtype, &expected.array.shape, Numbers::Plain);
            std::fs::write(folder.join("prior.npy"), operands::file(&prior, dtype, rng.one_in(2))).expect("a file");
            groups.push(vec!["--accumulate".to_owned(), "prior.npy".to_owned()]);
            for (at, value) in prior.values.iter().enumerate() {
                expected.array.values[at] += value;
                expected.array.sizes[at] += prior.sizes[at];
            }
            expected.roundings += 2;
        }
        let mut file = None;
        if rng.one_in(2) {
            let name = ["out.npy", "0.npy", "none/out.npy", "."][if rng.one_in(20) { 1 + rng.below(3) } else { 0 }];
            // The program rejects an output that would replace an operand. If the command only plans or an operand is
            // invalid, the command may instead succeed and replace the existing file.
            let clashes = folder.join(name).exists();
            if clashes && self.no_result {
                self.allowed_files.push(name.to_owned());
            }
            if clashes || name == "." || name.contains('/') {
                self.outcome = self.outcome.max(if self.no_result { Outcome::Open } else { Outcome::Refused });
            } else {
                self.allowed_files.push(name.to_owned());
                file = Some(name.to_owned());
            }
            groups.push(vec![["-o", "--output"][rng.below(2)].to_owned(), name.to_owned()]);
        }
        if !self.no_result {
            let sums_nothing = expression.shapes.iter().flatten().any(|&extent| extent == 0);
            self.result = Some(Output { dtype, expected, file, sums_nothing });
        }
    }

    /// Puts flags and positional arguments into random order; operands keep their order.
    fn arrange(&mut self, rng: &mut Rng, mut groups: Vec<Vec<String>>, positional: Vec<String>) {
        rng.shuffle(&mut groups);
        let mut positional = positional.into_iter();
        for group in groups {
            if rng.one_in(3) {
                self.arguments.extend(positional.next());
            }
            self.arguments.extend(group);
        }
        self.arguments.extend(positional);
    }
}
