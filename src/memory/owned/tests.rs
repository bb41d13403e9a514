//! Unit tests of `owned`.

use num_complex::Complex;

use super::*;

#[test]
fn zeros_are_as_many_as_asked_for() {
    assert_eq!(zeros::<f32>(3), Ok(vec![0.0; 3]));
    assert_eq!(zeros::<f64>(0), Ok(Vec::new()));
    assert_eq!(zero_array::<Complex<f64>>(&[2, 3]).unwrap(), ArrayD::from_elem(IxDyn(&[2, 3]), Complex::default()));
    assert_eq!(zero_array::<f32>(&[0, 3]).unwrap().len(), 0);
    assert_eq!(zero_array::<f32>(&[]).unwrap().len(), 1);
    let view = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    let copy = copy_of(&view.t().into_dyn()).unwrap();
    assert_eq!((copy.as_slice(), copy.shape()), (Some(&[1.0, 3.0, 2.0, 4.0][..]), &[2, 2][..]));
}

#[test]
fn too_much_is_an_error() {
    // Tests sizes that exceed any address space, and sizes in bytes that overflow `usize`.
    for elements in [usize::MAX / 16, usize::MAX / 4, usize::MAX] {
        let bytes = elements.saturating_mul(4);
        assert_eq!(zeros::<f32>(elements), Err(OutOfMemory { bytes }));
    }
    assert_eq!(zero_array::<f32>(&[usize::MAX, 2]), Err(OutOfMemory { bytes: usize::MAX }));
    assert_eq!(probe(usize::MAX / 4), Err(OutOfMemory { bytes: usize::MAX / 4 }));
    assert_eq!(probe(1 << 20), Ok(()));
}
