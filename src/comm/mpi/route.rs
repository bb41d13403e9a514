//! The transports by which ranks reach each other.

/// How bytes are moved from one process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Memory that both processes can load and store, on one node.
    Shared,
    /// MPI messages.
    Message,
    /// One-sided MPI calls.
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
    /// The name of the route on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Route::Shared => "shared",
            Route::Message => "message",
            Route::Rma => "rma",
        }
    }
}

impl Routes {
    /// Uses one route everywhere, except that memory is shared within nodes only, with messages between them.
    pub fn of(route: Route) -> Routes {
        Routes { near: route, far: if route == Route::Shared { Route::Message } else { route } }
    }
}
