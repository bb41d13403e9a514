//! By which transport ranks reach each other.

/// How bytes get from one process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Memory that both can load and store: of one node.
    Shared,
    /// Messages of MPI.
    Message,
    /// One-sided calls of MPI.
    Rma,
}

/// The routes of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Routes {
    /// Between ranks of one node.
    pub near: Route,
    /// Between nodes; never shared.
    pub far: Route,
}

impl Route {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Route::Shared => "shared",
            Route::Message => "message",
            Route::Rma => "rma",
        }
    }
}

impl Routes {
    /// The same everywhere; memory is shared within nodes only, and messages go between them.
    pub fn of(route: Route) -> Routes {
        Routes { near: route, far: if route == Route::Shared { Route::Message } else { route } }
    }
}
