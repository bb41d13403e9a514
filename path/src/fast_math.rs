//! Approximate powers and logarithms to base 2, for innermost loops.
//!
//! Both are exact for whole powers of 2. Otherwise, a power's relative error is at most 1.2e-4, and a logarithm's error
//! at most 4e-3. Only prices of solutions have these errors.

/// 2^x, between 2^-1000 and 2^1000.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1000.0, 1000.0);
    let whole = x.floor();
    let part = x - whole;
    let mantissa = 1.0 + part * (0.695_556_856 + part * (0.226_173_572 + part * 0.078_269_572));
    f64::from_bits(((whole as i64 + 1023) as u64) << 52) * mantissa
}

/// log2 of a positive normal number.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000) - 1.0;
    // This polynomial is 0 at 0 and 1 at 1.
    let value =
        mantissa * (1.441_814_9 + mantissa * (-0.708_440_8 + mantissa * (0.415_366_7 + mantissa * -0.148_740_8)));
    exponent as f64 + value
}
