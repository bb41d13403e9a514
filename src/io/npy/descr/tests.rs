//! Unit tests of `descr`.

use super::*;

/// Tests spellings against the results of NumPy 2.4 on a little-endian 64-bit machine.
#[test]
#[cfg(target_endian = "little")]
fn every_spelling_of_our_types() {
    for (to, spellings) in [
        (Dtype::Float32, "f f4 single float32 <f <f4 =f =f4 |f |f4"),
        (Dtype::Float64, "d f8 float double float64 <d <f8 =d =f8 |d |f8 f08"),
        (Dtype::Complex64, "F c8 csingle complex64 <F <c8 =F =c8 |F |c8"),
        (Dtype::Complex128, "D c16 complex cdouble complex128 <D <c16 =D =c16 |D |c16"),
    ] {
        for spelling in spellings.split(' ') {
            assert_eq!(Elements::parse(spelling), Some(Elements::Supported(to)), "{spelling}");
        }
        let big = Elements::Other { name: format!("big-endian {to}"), to, loss: None };
        let swapped = spellings.split(' ').filter_map(|spelling| spelling.strip_prefix('<'));
        swapped.for_each(|spelling| assert_eq!(Elements::parse(&format!(">{spelling}")), Some(big.clone())));
    }
}

#[test]
fn other_numbers_and_no_numbers() {
    for (spellings, name, to, loss) in [
        ("e f2 half float16", "float16", Dtype::Float32, None),
        ("g f16 longdouble float128", "float128", Dtype::Float64, Some(EXTENDED_DIGITS_LOST)),
        ("G c32 clongdouble complex256", "complex256", Dtype::Complex128, Some(EXTENDED_DIGITS_LOST)),
        ("? b1 bool bool_ |b1", "bool", Dtype::Float64, None),
        ("b i1 int8 |i1 >i1", "int8", Dtype::Float64, None),
        ("B u1 uint8 ubyte", "uint8", Dtype::Float64, None),
        ("int int_ i8 long l q n <n intp int64", "int64", Dtype::Float64, Some(LARGE_INTEGERS_ROUNDED)),
        ("uint N =N uint64", "uint64", Dtype::Float64, Some(LARGE_INTEGERS_ROUNDED)),
        ("I u4 uint32 uintc", "uint32", Dtype::Float64, None),
    ] {
        for spelling in spellings.split(' ') {
            let other = Elements::Other { name: name.into(), to, loss };
            assert_eq!(Elements::parse(spelling), Some(other), "{spelling}");
        }
    }
    for spelling in "S S3 |S5 U <U4 str str_ bytes_ O object_ void |O |O8 V8 <M8[ns] m8 datetime64 a5 c".split(' ') {
        assert!(matches!(Elements::parse(spelling), Some(Elements::NotNumbers(_))), "{spelling}");
    }
    for spelling in [
        "",
        "<",
        "x",
        "f1",
        "f3",
        "d8",
        "g16",
        "<float64",
        "Float64",
        "f8 ",
        "f-8",
        "float",
        "i3",
        "f99999999999999999999",
        "f06164941944717836288",
        "float64_",
        "float_",
        "double_",
        "float064",
        "float+64",
        "bool__",
        "uint_",
        "int064",
        "n8",
    ] {
        let known = Elements::parse(spelling);
        assert_eq!(known.is_some(), spelling == "float", "{spelling}: {known:?}");
    }
}
