//! Element types.
use crate::dtype::Dtype;
/// An element type.
pub trait Element: Copy + Send + Sync + 'static {
    const DTYPE: Dtype;
}
impl Element for f32 {
    const DTYPE: Dtype = Dtype::Float32;
}
impl Element for f64 {
    const DTYPE: Dtype = Dtype::Float64;
}
