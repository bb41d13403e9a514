//! Names the transports between ranks.

/// A transport between two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Memory that two processes on the same node can load and store.
    Shared,
    /// MPI messages.
    Message,
    /// One-sided calls.
    Rma,
}

/// The transports that the ranks of a world use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Routes {
    /// The route between ranks of one node.
    pub near: Route,
    /// The route between nodes; never [`Route::Shared`].
    pub far: Route,
}

impl Route {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Route::Shared => "shared",
            Route::Message => "message",
            Route::Rma => "rma",
        }
    }
}

impl Routes {
    /// Uses `route`, but messages between nodes instead of [`Route::Shared`].
    pub fn of(route: Route) -> Routes {
        Routes { near: route, far: if route == Route::Shared { Route::Message } else { route } }
    }
}
