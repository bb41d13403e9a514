//! Converts errors of the library to Python exceptions.

use einsum_dist::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// Returns the exception for an error. The message shows the position of a mistake in the expression, if there is one.
pub fn exception(error: Error) -> PyErr {
    // Python quotes names so.
    let quoted = |text: String| text.replace('`', "'");
    let message = quoted(error.to_string());
    match error {
        Error::Parse(error) => PyValueError::new_err(quoted(error.render())),
        Error::Shape(error) => PyValueError::new_err(quoted(error.render())),
        Error::Plan(_) | Error::Usage(_) | Error::Kernel(_) => PyValueError::new_err(message),
        Error::Memory { .. } | Error::HostMemory { .. } | Error::ProcessMemory { .. } => {
            PyMemoryError::new_err(message)
        }
        Error::Npy(_) | Error::File(_) | Error::Output { .. } => PyOSError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}
