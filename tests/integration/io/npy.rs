//! Compares blocks of `.npy` files with arrays in memory.

use einsum_dist::dtype::Dtype;
use einsum_dist::io::npy::{NpyError, create, read_block, read_header, write_block};
use einsum_dist::io::random::value;
use einsum_dist_test_tools::npyz::{self, WriterBuilder};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

const ALL: [Dtype; 4] = [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128];

/// A separate directory for one test, which is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("einsum-dist-npy-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 += 1;
        ((value(99, 0, self.0).0 + 1.0) / 2.0 * n as f64) as usize
    }
}

fn descr(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Float32 => "<f4",
        Dtype::Float64 => "<f8",
        Dtype::Complex64 => "<c8",
        Dtype::Complex128 => "<c16",
    }
}

/// The bytes of a file as NumPy writes it.
fn file(version: u8, descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let extents: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let extents = extents.trim_end();
    let order = if fortran { "True" } else { "False" };
    let descr = if descr.starts_with('[') { descr.to_string() } else { format!("'{descr}'") };
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': ({extents}), }}");
    let prefix = if version == 1 { 10 } else { 12 };
    while !(prefix + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// Pseudo-random bytes that depend on the element's index.
fn element(index: usize, size: usize) -> Vec<u8> {
    (0..size).map(|byte| (index.wrapping_mul(2_654_435_761) >> (byte % 4 * 8)) as u8 ^ byte as u8).collect()
}

fn positions(ranges: &[Range<usize>]) -> Vec<Vec<usize>> {
    ranges.iter().fold(vec![vec![]], |heads, range| {
        heads.iter().flat_map(|head| range.clone().map(move |i| [&head[..], &[i]].concat())).collect()
    })
}

fn row_major(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |index, (n, i)| index * n + i)
}

fn column_major(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).rev().fold(0, |index, (n, i)| index * n + i)
}

/// A dense block of an array. The value of each element depends on its row-major index in the array.
fn block(shape: &[usize], ranges: &[Range<usize>], size: usize) -> Vec<u8> {
    positions(ranges).iter().flat_map(|at| element(row_major(shape, at), size)).collect()
}

fn whole(shape: &[usize]) -> Vec<Range<usize>> {
    shape.iter().map(|&n| 0..n).collect()
}

fn data(shape: &[usize], fortran: bool, size: usize) -> Vec<u8> {
    let mut data = vec![0; shape.iter().product::<usize>() * size];
    for at in positions(&whole(shape)) {
        let index = if fortran { column_major(shape, &at) } else { row_major(shape, &at) };
        data[index * size..][..size].copy_from_slice(&element(row_major(shape, &at), size));
    }
    data
}

fn random_block(dice: &mut Dice, shape: &[usize]) -> Vec<Range<usize>> {
    let range = |&n: &usize| {
        if dice.below(3) == 0 {
            return 0..n;
        }
        let (a, b) = (dice.below(n + 1), dice.below(n + 1));
        a.min(b)..a.max(b)
    };
    shape.iter().map(range).collect()
}

#[test]
fn random_blocks_are_parts_of_the_whole() {
    let scratch = Scratch::new("blocks");
    let path = scratch.0.join("a.npy");
    let mut dice = Dice(0);
    for round in 0..600 {
        let dtype = ALL[round % 4];
        let fortran = round % 8 >= 4;
        let shape: Vec<usize> = (0..dice.below(7)).map(|_| [0, 1, 1, 2, 3, 4, 5, 6][dice.below(8)]).collect();
        let version = 1 + (round % 3) as u8;
        let mut bytes = file(version, descr(dtype), fortran, &shape, &data(&shape, fortran, dtype.size()));
        fs::write(&path, &bytes).unwrap();
        let header = read_header(&path).unwrap();
        assert_eq!((header.dtype, &header.shape, header.fortran), (dtype, &shape, fortran));
        for _ in 0..4 {
            let ranges = random_block(&mut dice, &shape);
            let want = block(&shape, &ranges, dtype.size());
            let mut got = vec![0xee; want.len()];
            read_block(&path, &header, &ranges, &mut got).unwrap();
            assert_eq!(got, want, "{dtype} {shape:?} {ranges:?} fortran {fortran}");

            let fresh: Vec<u8> = want.iter().map(|b| !b).collect();
            write_block(&path, &header, &ranges, &fresh).unwrap();
            for (at, new) in positions(&ranges).iter().zip(fresh.chunks(dtype.size())) {
                let index = if fortran { column_major(&shape, at) } else { row_major(&shape, at) };
                let offset = header.data_offset as usize + index * dtype.size();
                bytes[offset..][..dtype.size()].copy_from_slice(new);
            }
            assert_eq!(fs::read(&path).unwrap(), bytes, "{dtype} {shape:?} {ranges:?} fortran {fortran}");
            write_block(&path, &header, &ranges, &want).unwrap();
            bytes = fs::read(&path).unwrap();
        }
    }
}

/// Tests blocks above and below each threshold, in every combination. The thresholds are the buffer size, the longest
/// gap that is read instead of skipped, and the length from which contiguous elements are read without the buffer.
#[test]
fn blocks_beyond_every_threshold() {
    let scratch = Scratch::new("large");
    let path = scratch.0.join("a.npy");
    for shape in [vec![3, 20_000], vec![20_000, 3], vec![150, 300], vec![70_000]] {
        for fortran in [false, true] {
            fs::write(&path, file(1, "<f8", fortran, &shape, &data(&shape, fortran, 8))).unwrap();
            let header = read_header(&path).unwrap();
            let inner: Vec<Range<usize>> = shape.iter().map(|&n| n / 3..n - n / 7).collect();
            let thin: Vec<Range<usize>> = shape.iter().map(|&n| n / 2..n / 2 + 1 + n % 2).collect();
            let mut column = whole(&shape);
            column[shape.len() - 1] = 1..2;
            let mut row = whole(&shape);
            row[0] = 1..3;
            for ranges in [whole(&shape), inner, thin, column, row] {
                let want = block(&shape, &ranges, 8);
                let mut got = vec![0; want.len()];
                read_block(&path, &header, &ranges, &mut got).unwrap();
                assert!(got == want, "{shape:?} {ranges:?} fortran {fortran}");
                fs::write(&path, file(1, "<f8", fortran, &shape, &vec![0; 8 * shape.iter().product::<usize>()]))
                    .unwrap();
                write_block(&path, &header, &ranges, &want).unwrap();
                got.fill(0);
                read_block(&path, &header, &ranges, &mut got).unwrap();
                assert!(got == want, "{shape:?} {ranges:?} fortran {fortran}");
                fs::write(&path, file(1, "<f8", fortran, &shape, &data(&shape, fortran, 8))).unwrap();
            }
        }
    }
}

#[test]
fn created_files_are_what_was_asked_for() {
    let scratch = Scratch::new("create");
    let path = scratch.0.join("a.npy");
    let shapes = [vec![], vec![0], vec![5], vec![2, 0, 3], vec![2, 3, 4]];
    // The texts of these shapes end at every distance from a multiple of 64.
    let shapes = shapes.into_iter().chain((1..70).map(|dims| vec![1; dims]));
    for (dtype, descr) in ALL.into_iter().zip(["<f4", "<f8", "<c8", "<c16"]) {
        for shape in shapes.clone() {
            let header = create(&path, dtype, &shape).unwrap();
            assert_eq!(read_header(&path).unwrap(), header);
            assert_eq!(header.data_offset % 64, 0);
            let length = fs::metadata(&path).unwrap().len();
            assert_eq!(length, header.data_offset + (shape.iter().product::<usize>() * dtype.size()) as u64);
            let parsed = npyz::NpyHeader::from_reader(fs::File::open(&path).unwrap()).unwrap();
            let extents: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
            assert_eq!(parsed.shape(), extents);
            let mut text = Vec::new();
            let options = npyz::WriteOptions::new_header_only().dtype(npyz::DType::Plain(descr.parse().unwrap()));
            options.shape(&extents).writer(&mut text).write_header_only().unwrap();
            assert_eq!(fs::read(&path).unwrap()[..header.data_offset as usize], text);
        }
    }
}

/// Tests offsets beyond 32 bits in a sparse file.
#[test]
fn elements_beyond_four_gigabytes() {
    let scratch = Scratch::new("sparse");
    let path = scratch.0.join("a.npy");
    let header = create(&path, Dtype::Float64, &[1 << 16, 1 << 14]).unwrap();
    let corner = [(1 << 16) - 2..1 << 16, (1 << 14) - 1..1 << 14];
    write_block(&path, &header, &corner, &[7; 16]).unwrap();
    let mut got = [0; 16];
    read_block(&path, &read_header(&path).unwrap(), &corner, &mut got).unwrap();
    assert_eq!(got, [7; 16]);
    assert_eq!(fs::metadata(&path).unwrap().len(), header.data_offset + (8 << 30));
}

#[test]
fn messages() {
    let scratch = Scratch::new("messages");
    let path = scratch.0.join("x.npy");
    let at = path.display().to_string();
    let beside = |what: &str| format!("{}-{what}.npy", at.strip_suffix(".npy").unwrap());
    let line = |to: &str| format!("convert it: np.save(\"{}\", np.load(\"{at}\").astype(np.{to}))", beside(to));
    let large = " (whole numbers beyond 2^53 are rounded)";
    let fine = " (digits beyond double precision are lost)";
    let check = |bytes: &[u8], want: &str| {
        fs::write(&path, bytes).unwrap();
        assert_eq!(read_header(&path).unwrap_err().to_string(), format!("{at}: {want}"));
    };
    for (descr, found, to, loss) in [
        ("<i8", "int64", "float64", large),
        ("<i4", "int32", "float64", ""),
        ("|u1", "uint8", "float64", ""),
        (">i2", "big-endian int16", "float64", ""),
        ("|b1", "bool", "float64", ""),
        ("<f2", "float16", "float32", ""),
        ("<f16", "float128", "float64", fine),
        ("<c32", "complex256", "complex128", fine),
        (">f4", "big-endian float32", "float32", ""),
        (">f8", "big-endian float64", "float64", ""),
        (">c8", "big-endian complex64", "complex64", ""),
        (">c16", "big-endian complex128", "complex128", ""),
    ] {
        check(&file(1, descr, false, &[2], &[0; 64]), &format!("holds {found}; {}{loss}", line(to)));
    }
    check(&file(1, "<U5", false, &[1], &[0; 20]), "holds strings (<U5), not numbers");
    check(&file(1, "|S5", false, &[1], &[0; 5]), "holds strings (|S5), not numbers");
    check(&file(1, "|O", false, &[1], &[0; 50]), "holds Python objects (|O), not numbers");
    check(&file(1, "<M8[ns]", false, &[1], &[0; 8]), "holds dates or times (<M8[ns]), not numbers");
    check(&file(1, "|V3", false, &[1], &[0; 3]), "holds raw bytes (|V3), not numbers");
    check(
        &file(1, "[('a', '<f8'), ('shape', '<i4')]", false, &[1], &[0; 12]),
        &format!(
            "is a structured array of \"a\", \"shape\"; save each field that is an operand: np.save(\"{}\", np.load(\"{at}\")[\"a\"])",
            beside("a")
        ),
    );

    check(b"", "is not an .npy file: it does not begin with \\x93NUMPY");
    check(b"1.0 2.0 3.0 4.0\n", "is not an .npy file: it does not begin with \\x93NUMPY");
    let archive = "is an .npz archive; save one of its arrays alone: ";
    check(b"PK\x03\x04 and so on", &format!("{archive}np.save(\"{}\", np.load(\"{at}\")[\"NAME\"])", beside("NAME")));
    check(b"\x93NUMPY\x04\x00\x10\x00{}          ", "has .npy version 4.0; 1.0, 2.0 and 3.0 are known");
    check(b"\x93NUMPY\x01\x00", "is truncated: 12 bytes expected, 8 found");
    check(b"\x93NUMPY\x01\x00\x76\x00{'descr'", "is truncated: 128 bytes expected, 18 found");
    check(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "has a damaged .npy header: it claims to be 4294967295 bytes long");

    let full = file(1, "<f8", false, &[3, 4], &[0; 96]);
    check(&full[..full.len() - 1], "is truncated: 224 bytes expected, 223 found");
    check(&full[..128], "is truncated: 224 bytes expected, 128 found");
    let max = u64::MAX as usize;
    check(
        &file(1, "<f4", false, &[max, 2], &[]),
        "an array of shape (18446744073709551615, 2) is larger than a file can be",
    );
    check(
        &file(1, "<f4", false, &[0, max, max], &[]),
        "an array of shape (0, 18446744073709551615, 18446744073709551615) is larger than a file can be",
    );
    check(
        &file(1, "<f4", false, &[max / 2], &[]),
        "float32 of shape (9223372036854775807,) is larger than a file can be",
    );

    fs::remove_file(&path).unwrap();
    assert_eq!(read_header(&path).unwrap_err().to_string(), format!("{at}: cannot open: No such file or directory"));
    fs::create_dir(&path).unwrap();
    assert_eq!(read_header(&path).unwrap_err().to_string(), format!("{at}: is a directory"));
}

/// A file with the given header text and `bytes` bytes of data.
fn with_text(version: u8, text: &[u8], bytes: usize) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((text.len() as u16).to_le_bytes()),
        _ => file.extend((text.len() as u32).to_le_bytes()),
    }
    file.extend(text);
    file.extend(vec![0; bytes]);
    file
}

/// Tests headers that other programs or old versions of NumPy write, and that NumPy can read.
#[test]
fn what_numpy_reads() {
    let scratch = Scratch::new("spellings");
    let path = scratch.0.join("a.npy");
    for (descr, shape) in [
        ("'<f8'", "(3L, 4L)"),
        ("'=f8'", "(3, 4)"),
        ("'f8'", "(3,4,)"),
        ("'float64'", "( 3 ,\n4 )"),
        ("'double'", "(0x3, 0b100)"),
        ("u'|f8'", "(3L, 4)"),
        ("'<' 'd'", "(3, # rows\n 4)"),
        ("\"\\x3cf8\"", "(3, 4)"),
    ] {
        for (version, text) in [
            (1, format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}          \n")),
            (2, format!("{{ 'shape':{shape} ,'descr' :{descr},\t'fortran_order':False}}")),
            (3, format!("{{u'fortran_order': False, \"descr\": {descr},\n'shape': {shape}}}")),
        ] {
            fs::write(&path, with_text(version, text.as_bytes(), 96)).unwrap();
            let header = read_header(&path).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((header.dtype, header.shape.as_slice(), header.fortran), (Dtype::Float64, &[3, 4][..], false));
            assert_eq!(header.data_offset, (text.len() + if version == 1 { 10 } else { 12 }) as u64);
        }
    }
}

/// Tests headers that neither this library nor NumPy can read. The error must describe the fault in one line.
#[test]
fn what_numpy_does_not_read() {
    let scratch = Scratch::new("unreadable");
    let path = scratch.0.join("a.npy");
    for (text, says) in [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (3)}", "its shape is not a tuple of extents"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}", "its shape is not a tuple of extents"),
        ("{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}", "its fortran_order is neither True nor False"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': [3]}", "its shape is not a tuple of extents"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (03,)}", "`03` is no whole number"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (3l,)}", "`3l` is no whole number"),
        ("{'descr': 'float64_', 'fortran_order': False, 'shape': (3,)}", "its descr `float64_` is no element type"),
        ("{'descr': '<f7', 'fortran_order': False, 'shape': (3,)}", "its descr `<f7` is no element type"),
        ("{'descr': '<f8', 'shape': (3,)}", "it has no fortran_order"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}", "it has another key than"),
        ("{'descr': '<f8\n', 'fortran_order': False, 'shape': (3,)}", "a string does not end"),
        ("['descr']", "it is not a Python dictionary"),
    ] {
        fs::write(&path, with_text(1, text.as_bytes(), 24)).unwrap();
        let error = read_header(&path).unwrap_err().to_string();
        assert!(error.contains("has a damaged .npy header: ") && error.contains(says), "{text}: {error}");
        assert!(!error.contains('\n'), "{error:?}");
    }
}

/// The command that an error message suggests must not overwrite any file.
#[test]
fn advice_overwrites_nothing() {
    let scratch = Scratch::new("advice");
    let path = scratch.0.join("a \"b\"\n.npy");
    let integers = with_text(1, b"{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}", 12);
    fs::write(&path, &integers).unwrap();
    let advised = || {
        let error = read_header(&path).unwrap_err();
        assert!(error.to_string().contains("a \\\"b\\\"\\n.npy\").astype"), "{error}");
        let NpyError::Convert { saved, .. } = error else { panic!("{error}") };
        saved
    };
    for name in ["a \"b\"\n-float64.npy", "a \"b\"\n-float64-2.npy", "a \"b\"\n-float64-3.npy"] {
        let saved = advised();
        assert_eq!(*saved, scratch.0.join(name));
        fs::write(saved, b"").unwrap();
    }
}

/// Random changes to a header's bytes must result in an error or a header, never in a panic.
#[test]
fn damaged_headers() {
    let scratch = Scratch::new("damaged");
    let path = scratch.0.join("a.npy");
    let good = file(1, "<f8", false, &[2, 3], &[0; 48]);
    let mut dice = Dice(0);
    for _ in 0..2000 {
        let mut bytes = good.clone();
        for _ in 0..1 + dice.below(4) {
            let at = 6 + dice.below(70);
            bytes[at] = b"()[]{}'\",:019<>|fci-\x00\xff \n"[dice.below(24)];
        }
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = read_header(&path) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
    for text in ["(".repeat(60_000), "{'shape': 3}".into(), "{'shape': (-1,)}".into(), "{}".into(), "7".into()] {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(read_header(&path), Err(NpyError::Header { .. })), "{text:.20}");
    }
}

#[test]
fn blocks_that_do_not_fit() {
    let scratch = Scratch::new("fit");
    let path = scratch.0.join("a.npy");
    let header = create(&path, Dtype::Float32, &[3, 4]).unwrap();
    let mut bytes = [0; 16];
    for ranges in [vec![0..1, 0..5], vec![0..1, 0..4, 0..1], vec![0..1, 0..3], vec![1..3, 0..4], vec![0..0, 0..4]] {
        assert!(matches!(read_block(&path, &header, &ranges, &mut bytes), Err(NpyError::Block { .. })));
        assert!(matches!(write_block(&path, &header, &ranges, &bytes), Err(NpyError::Block { .. })));
    }
    let error = read_block(&path, &header, &[0..1, 0..5], &mut bytes).unwrap_err().to_string();
    assert!(error.ends_with("block [0..1, 0..5] of 16 bytes does not fit float32 of shape (3, 4)"), "{error}");
}

#[test]
fn a_file_that_shrinks_is_truncated() {
    let scratch = Scratch::new("shrinks");
    let path = scratch.0.join("a.npy");
    let header = create(&path, Dtype::Float32, &[3, 4]).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(150).unwrap();
    let error = read_block(&path, &header, &[0..3, 0..4], &mut [0; 48]).unwrap_err().to_string();
    assert!(error.ends_with("a.npy: is truncated: 176 bytes expected, 150 found"), "{error}");
}
