//! Distributions: grids of ranks, and the block of each rank.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::owners::{places, row_major};
use super::{Cut, Intervals, Owners, Region};

/// Maximum boxes in one block: schedules list each.
const MAX_PIECES: usize = 1 << 20;

/// The effect of an axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Divides a dimension among the coordinates.
    Cut {
        /// Its position, from 0.
        dim: usize,
        /// The tiles.
        how: Cut,
    },
    /// Ranks that differ only along this axis store the same block.
    Replicate,
    /// Ranks store partial sums, which add up to the tensor.
    Partial,
}

/// An axis of the grid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Axis {
    /// The number of coordinates.
    pub ranks: usize,
    /// Its effect.
    pub role: Role,
}

impl Axis {
    pub(crate) fn cut_dim(&self) -> Option<usize> {
        self.cut().map(|(dim, _)| dim)
    }

    pub(super) fn cut(&self) -> Option<(usize, &Cut)> {
        match &self.role {
            Role::Cut { dim, how } => Some((*dim, how)),
            Role::Replicate | Role::Partial => None,
        }
    }
}

/// The distribution of a tensor over a grid of ranks. Places are in row-major order; ranks outside the grid store
/// nothing.
///
/// A further axis that cuts the same dimension divides each tile again, by positions in it.
///
/// ```
/// # use einsum_dist::{Axis, Cut, Distribution, Owners, Role};
/// // Rows are distributed cyclically over two pairs of ranks; both ranks of a pair have the same rows. Ranks 4 to 7.
/// let rows = Axis { ranks: 2, role: Role::Cut { dim: 0, how: Cut::cyclic(1) } };
/// let pairs = Distribution::new(vec![rows, Axis { ranks: 2, role: Role::Replicate }]).owned_by(Owners::From(4));
/// assert_eq!(pairs.block(&[5, 3], 6).unwrap().dims()[0].ranges(), [1..2, 3..4]);
/// assert_eq!(pairs.block(&[5, 3], 0), None);
/// assert_eq!(pairs.describe(&["m", "k"]), "m/2 cyclic(1) x2 from 4");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Distribution {
    axes: Vec<Axis>,
    owners: Owners,
    /// Checked not to overflow.
    #[serde(skip_serializing)]
    places: usize,
    /// One more than the largest rank, checked likewise.
    #[serde(skip_serializing)]
    end: usize,
}

#[derive(Deserialize)]
struct Unchecked {
    axes: Vec<Axis>,
    owners: Owners,
}

impl TryFrom<Unchecked> for Distribution {
    type Error = GridError;

    fn try_from(Unchecked { axes, owners }: Unchecked) -> Result<Distribution, GridError> {
        Distribution::try_new(axes, owners)
    }
}

impl Distribution {
    /// The grid with these axes, and a rank of `owners` at each place.
    ///
    /// # Errors
    /// If an axis has no ranks or an invalid cut for their number, if the number of places or of the largest rank
    /// overflows, or if `owners` does not assign a distinct rank to each place.
    pub fn try_new(axes: Vec<Axis>, owners: Owners) -> Result<Distribution, GridError> {
        for (at, Axis { ranks, role }) in axes.iter().enumerate() {
            if *ranks == 0 {
                return Err(GridError::NoRank { axis: at });
            }
            if matches!(role, Role::Cut { how, .. } if !how.fits(*ranks)) {
                return Err(GridError::Cut { axis: at, ranks: *ranks });
            }
        }
        let extents: Vec<usize> = axes.iter().map(|axis| axis.ranks).collect();
        let places = places(&extents).ok_or_else(|| {
            let axes: Vec<String> = extents.iter().filter(|&&ranks| ranks > 1).map(usize::to_string).collect();
            GridError::Places { axes: axes.join(" x ") }
        })?;
        if !owners.fits(&extents) {
            return Err(GridError::Owners { places });
        }
        let end = owners.end(&extents).ok_or_else(|| GridError::End { first: owners.start(), places })?;
        Ok(Distribution { axes, owners, places, end })
    }

    fn new_or_panic(axes: Vec<Axis>, owners: Owners) -> Distribution {
        Distribution::try_new(axes, owners).unwrap_or_else(|error| panic!("no grid of ranks: {error}"))
    }

    /// The grid with these axes on consecutive ranks from 0.
    ///
    /// # Panics
    /// If an axis has no ranks or an invalid cut for their number, or if the number of places overflows.
    pub fn new(axes: Vec<Axis>) -> Distribution {
        Distribution::new_or_panic(axes, Owners::default())
    }

    /// The same distribution with the ranks of `owners`.
    ///
    /// # Panics
    /// If `owners` does not assign a distinct rank to each place.
    pub fn owned_by(self, owners: Owners) -> Distribution {
        Distribution::new_or_panic(self.axes, owners)
    }

    /// Checks that this suits a tensor with `dims` dimensions on `ranks` ranks. Cost: O(axes).
    ///
    /// # Errors
    /// If an axis cuts a dimension that the tensor lacks, or if the grid needs more ranks.
    pub fn fits(&self, dims: usize, ranks: usize) -> Result<(), GridError> {
        if self.end > ranks {
            return Err(GridError::Ranks { needed: self.end, ranks });
        }
        self.axes.iter().try_for_each(|axis| match axis.role {
            Role::Cut { dim, .. } if dim >= dims => Err(GridError::Dimension { dim, dims }),
            _ => Ok(()),
        })
    }

    /// Like [`Distribution::fits`], also for the number of boxes in a block. Cost: O(axes).
    ///
    /// # Errors
    /// Those of [`Distribution::fits`], and if a block could have more than 2^20 boxes.
    pub fn fits_shape(&self, shape: &[usize], ranks: usize) -> Result<(), GridError> {
        self.fits(shape.len(), ranks)?;
        let (mut extents, mut pieces) = (shape.to_vec(), vec![1usize; shape.len()]);
        for axis in &self.axes {
            if let Role::Cut { dim, how } = &axis.role {
                pieces[*dim] = pieces[*dim].saturating_add(how.pieces(extents[*dim], axis.ranks).saturating_sub(1));
                extents[*dim] = how.largest(extents[*dim], axis.ranks);
            }
        }
        let pieces = pieces.into_iter().fold(1, usize::saturating_mul);
        if pieces > MAX_PIECES {
            return Err(GridError::Pieces { pieces, most: MAX_PIECES });
        }
        Ok(())
    }

    /// The same distribution with `to - from` added to every rank.
    ///
    /// # Panics
    /// If a rank would be negative or overflow.
    pub fn moved(&self, from: usize, to: usize) -> Distribution {
        match self.owners.moved(from, to) {
            Some(owners) => Distribution::new_or_panic(self.axes.clone(), owners),
            None => panic!("no ranks are {to} - {from} beside those of the grid"),
        }
    }

    /// Rank 0 stores the complete tensor.
    pub fn single() -> Distribution {
        Distribution::new(Vec::new())
    }

    /// Cuts dimension `dim` into even tiles over `ranks` ranks.
    pub fn cut(dim: usize, ranks: usize) -> Distribution {
        Distribution::new(vec![Axis { ranks, role: Role::Cut { dim, how: Cut::Even } }])
    }

    /// Each of `ranks` ranks stores the complete tensor.
    pub fn replicated(ranks: usize) -> Distribution {
        Distribution::new(vec![Axis { ranks, role: Role::Replicate }])
    }

    /// Each of `ranks` ranks stores one summand of the tensor.
    pub fn partial(ranks: usize) -> Distribution {
        Distribution::new(vec![Axis { ranks, role: Role::Partial }])
    }

    /// The axes, slowest first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The rank at each place.
    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    fn extents(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.ranks).collect()
    }

    /// The rank at the origin, and the stride of each axis, unless owners are listed.
    pub(crate) fn strides(&self) -> Option<(usize, Vec<usize>)> {
        match &self.owners {
            Owners::From(first) => Some((*first, row_major(&self.extents()))),
            Owners::Listed(_) => None,
            Owners::Strided { first, strides } => Some((*first, strides.clone())),
        }
    }

    /// The number of places.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The ranks that a run needs: one more than the largest.
    pub fn ranks(&self) -> usize {
        self.end
    }

    /// From the smallest to the largest rank.
    pub fn span(&self) -> Range<usize> {
        self.owners.start()..self.end
    }

    /// Whether a block can consist of several boxes.
    pub fn is_scattered(&self) -> bool {
        let cyclic = |axis: &Axis| axis.ranks > 1 && matches!(&axis.role, Role::Cut { how: Cut::Cyclic { .. }, .. });
        self.axes.iter().any(cyclic)
    }

    /// The coordinates of a rank, or `None` outside the grid. Cost: O(axes), and O(places) for [`Owners::Listed`].
    pub fn coordinates(&self, rank: usize) -> Option<Vec<usize>> {
        Some(self.axes_at(rank)?.map(|(_, coordinate)| coordinate).collect())
    }

    fn axes_at<'a>(&'a self, rank: usize) -> Option<impl Iterator<Item = (&'a Axis, usize)>> {
        let (place, strides) = match &self.owners {
            Owners::From(first) => (rank.checked_sub(*first).filter(|&place| place < self.places)?, None),
            Owners::Listed(ranks) => (ranks.iter().position(|&owner| owner == rank)?, None),
            Owners::Strided { first, strides } => (rank.checked_sub(*first)?, Some(strides)),
        };
        let mut inner = self.places;
        let at = move |(at, axis): (usize, &'a Axis)| {
            inner /= axis.ranks;
            let stride = strides.map_or(inner, |strides| strides[at]);
            (axis, stride, place / stride.max(1) % axis.ranks)
        };
        let mut all = self.axes.iter().enumerate().map(at);
        let rest = all.try_fold(place, |rest, (_, stride, coordinate)| rest.checked_sub(stride * coordinate));
        (strides.is_none() || rest == Some(0))
            .then(|| self.axes.iter().enumerate().map(at).map(|(axis, _, at)| (axis, at)))
    }

    /// The rank at the given coordinates.
    pub fn rank_at(&self, coordinates: &[usize]) -> usize {
        self.owners.rank(self.axes.iter().map(|axis| axis.ranks), coordinates)
    }

    /// The rank from which `target` reads the block of `holder`, if it has one: itself if possible, else one that
    /// spreads the load.
    pub fn replica_for(&self, holder: usize, target: usize) -> Option<usize> {
        let mut coordinates = self.coordinates(holder)?;
        let same = self.coordinates(target).is_some_and(|own| {
            let pairs = self.axes.iter().zip(coordinates.iter().zip(own));
            pairs.filter(|(axis, _)| axis.role != Role::Replicate).all(|(_, (a, b))| *a == b)
        });
        if same {
            return Some(target);
        }
        Some(self.with_replica(&mut coordinates, target))
    }

    /// The rank at these coordinates, except for the number of its replica.
    fn with_replica(&self, coordinates: &mut [usize], mut number: usize) -> usize {
        for (coordinate, axis) in coordinates.iter_mut().zip(&self.axes).rev() {
            if axis.role == Role::Replicate {
                *coordinate = number % axis.ranks;
                number /= axis.ranks;
            }
        }
        self.rank_at(coordinates)
    }

    /// The number of ranks that store the same block.
    pub fn replicas(&self) -> usize {
        self.axes.iter().filter(|axis| axis.role == Role::Replicate).map(|axis| axis.ranks).product()
    }

    /// The number of distinct blocks, at least 1. Summands count separately, replicas do not.
    pub fn parts(&self) -> usize {
        (self.places() / self.replicas().max(1)).max(1)
    }

    /// The number of the replica that `rank` stores, in row-major order along the replicating axes; `None` outside the
    /// grid.
    pub fn replica(&self, rank: usize) -> Option<usize> {
        self.number_on(rank, &Role::Replicate)
    }

    /// The ranks with the block of `rank`, in order of replicas.
    pub fn same_as(&self, rank: usize) -> Vec<usize> {
        let Some(mut coordinates) = self.coordinates(rank) else { return Vec::new() };
        (0..self.replicas()).map(|number| self.with_replica(&mut coordinates, number)).collect()
    }

    fn number_on(&self, rank: usize, role: &Role) -> Option<usize> {
        let on = self.axes_at(rank)?.filter(|(axis, _)| axis.role == *role);
        Some(on.fold(0, |number, (axis, coordinate)| number * axis.ranks + coordinate))
    }

    /// The block of `rank`, if it is in the grid.
    pub fn block(&self, shape: &[usize], rank: usize) -> Option<Region> {
        let axes = self.axes_at(rank)?;
        let mut dims: Vec<Intervals> = shape.iter().map(|&extent| Intervals::from(0..extent)).collect();
        for (axis, coordinate) in axes {
            if let Role::Cut { dim, how } = &axis.role {
                let tile = how.tile(dims[*dim].len(), axis.ranks, coordinate);
                dims[*dim] = dims[*dim].select_all(&tile);
            }
        }
        Some(Region::from(dims))
    }

    /// The indices of [`Distribution::block`] along a dimension; all of them outside the grid.
    pub(crate) fn indices(&self, shape: &[usize], rank: usize, dim: usize) -> Intervals {
        let cuts = self.axes_at(rank).into_iter().flatten().filter_map(|(axis, at)| {
            let (_, how) = axis.cut().filter(|&(cut, _)| cut == dim)?;
            Some((how, axis.ranks, at))
        });
        let all = Intervals::from(0..shape[dim]);
        cuts.fold(all, |indices, (how, ranks, at)| indices.select_all(&how.tile(indices.len(), ranks, at)))
    }

    /// The extents of [`Distribution::block`]. Cost: that of [`Distribution::coordinates`], and O(dimensions).
    pub(crate) fn block_extents(&self, shape: &[usize], rank: usize) -> Option<Vec<usize>> {
        let axes = self.axes_at(rank)?;
        let mut extents = shape.to_vec();
        for (axis, coordinate) in axes {
            if let Role::Cut { dim, how } = &axis.role {
                extents[*dim] = how.len(extents[*dim], axis.ranks, coordinate);
            }
        }
        Some(extents)
    }

    /// The ranks whose blocks overlap a region, ascending. Few other blocks are computed.
    pub fn meeting(&self, shape: &[usize], region: &Region) -> Vec<usize> {
        let whole: Vec<Intervals> = shape.iter().map(|&extent| Intervals::from(0..extent)).collect();
        let mut places: Vec<(Vec<usize>, Vec<Intervals>)> = Vec::new();
        if region.meets(&Region::from(whole.clone())) {
            places.push((Vec::with_capacity(self.axes.len()), whole));
        }
        for axis in &self.axes {
            let mut finer = Vec::new();
            for (coordinates, dims) in places {
                let cut = axis.cut().map(|(dim, how)| (dim, how, &region.dims()[dim]));
                let all = 0..axis.ranks;
                let reached =
                    cut.map_or(all, |(dim, how, wanted)| how.tiles_near(&dims[dim], axis.ranks, wanted.span()));
                for coordinate in reached {
                    let tile = cut.map(|(dim, how, wanted)| {
                        (dim, dims[dim].select_all(&how.tile(dims[dim].len(), axis.ranks, coordinate)), wanted)
                    });
                    if tile.as_ref().is_none_or(|(_, tile, wanted)| tile.meets(wanted)) {
                        let mut dims = dims.clone();
                        tile.into_iter().for_each(|(dim, tile, _)| dims[dim] = tile);
                        finer.push((coordinates.iter().copied().chain([coordinate]).collect(), dims));
                    }
                }
            }
            places = finer;
        }
        let mut ranks: Vec<usize> = places.iter().map(|(coordinates, _)| self.rank_at(coordinates)).collect();
        ranks.sort_unstable();
        ranks
    }

    /// An upper bound for the distinct blocks that overlap a box, exact if even cuts divide different dimensions. Cost:
    /// O(axes^2).
    pub(crate) fn blocks_near(&self, shape: &[usize], bounds: &Region) -> usize {
        let near = self.axes.iter().enumerate().filter_map(|(at, axis)| {
            let (dim, how) = axis.cut()?;
            let nested = self.axes[..at].iter().any(|other| other.cut_dim() == Some(dim));
            let near = how.tiles_near(&Intervals::from(0..shape[dim]), axis.ranks, bounds.dims()[dim].span());
            Some(if nested { axis.ranks } else { near.len() })
        });
        near.fold(1, usize::saturating_mul)
    }

    /// The ranks that store at least one element, ascending.
    pub(crate) fn holders(&self, shape: &[usize]) -> Vec<usize> {
        self.meeting(shape, &Region::whole(shape))
    }

    /// The block of `rank`, or an empty region outside the grid.
    pub fn block_or_empty(&self, shape: &[usize], rank: usize) -> Region {
        self.block(shape, rank).unwrap_or_else(|| {
            // Without dimensions, this region has one element, so callers declare no buffer for such a rank.
            Region::from(shape.iter().map(|_| 0..0).collect::<Vec<_>>())
        })
    }

    /// The number of the summand that `rank` stores, in row-major order along the axes of partial sums; `None` outside
    /// the grid.
    pub fn summand(&self, rank: usize) -> Option<usize> {
        self.number_on(rank, &Role::Partial)
    }

    /// Whether `rank` stores the first replica, the one written to files.
    pub fn is_first_replica(&self, rank: usize) -> bool {
        self.replica(rank) == Some(0)
    }

    /// The number of summands; 1 without partial sums.
    pub fn summands(&self) -> usize {
        self.axes.iter().filter(|axis| axis.role == Role::Partial).map(|axis| axis.ranks).product()
    }

    /// The extents of the largest block.
    pub fn largest_block(&self, shape: &[usize]) -> Vec<usize> {
        let mut extents = shape.to_vec();
        for axis in &self.axes {
            if let Role::Cut { dim, how } = &axis.role {
                extents[*dim] = how.largest(extents[*dim], axis.ranks);
            }
        }
        extents
    }

    /// Text such as `m/4`, `k/2 n/3`, `x3` (replicated), `sum/2` (partial sums) or `rank 0`, with the `names` of the
    /// dimensions.
    pub fn describe(&self, names: &[&str]) -> String {
        let parts = self.axes.iter().map(|axis| match &axis.role {
            Role::Cut { dim, how } => format!("{}/{}{}", names[*dim], axis.ranks, how.describe()),
            Role::Replicate => format!("x{}", axis.ranks),
            Role::Partial => format!("sum/{}", axis.ranks),
        });
        let grid = parts.collect::<Vec<_>>().join(" ");
        let listed = |all: &[usize]| all.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        match (&self.owners, grid.is_empty()) {
            (owners, true) => format!("rank {}", owners.start()),
            (Owners::From(0), _) => grid,
            (Owners::From(first), _) => format!("{grid} from {first}"),
            (Owners::Listed(ranks), _) => format!("{grid} on {}", listed(ranks)),
            (Owners::Strided { first: 0, strides }, _) => format!("{grid} by {}", listed(strides)),
            (Owners::Strided { first, strides }, _) => format!("{grid} by {} from {first}", listed(strides)),
        }
    }
}

/// An invalid grid, or one that does not suit a tensor or a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum GridError {
    /// An axis has no ranks.
    #[error("axis {axis} of the grid has no rank")]
    NoRank { axis: usize },
    /// A cut is invalid for its axis.
    #[error("axis {axis} of the grid has {ranks} ranks, which its cut does not divide a dimension among")]
    Cut { axis: usize, ranks: usize },
    /// The number of places overflows.
    #[error("it needs {axes} ranks, more than 64 bits count")]
    Places { axes: String },
    /// The number of the last rank overflows.
    #[error("it begins at rank {first}, and its {places} ranks end beyond what 64 bits count")]
    End { first: usize, places: usize },
    /// The owners are not one distinct rank per place.
    #[error("its owners are not {places} ranks, each once")]
    Owners { places: usize },
    /// The tensor lacks a dimension that is cut.
    #[error("it cuts dimension {dim} of {dims}")]
    Dimension { dim: usize, dims: usize },
    /// The run has too few ranks.
    #[error("it needs {needed} ranks, and there are {ranks}")]
    Ranks { needed: usize, ranks: usize },
    /// A block would have too many boxes.
    #[error(
        "blocks of rank 0 would be {pieces} separate pieces, {most} at most are possible: take larger cyclic blocks"
    )]
    Pieces { pieces: usize, most: usize },
}
