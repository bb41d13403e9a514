//! Unit tests of `plan_cache`.

use super::*;
use crate::dims::Label;
use crate::kernel::widest;

#[test]
fn like_tasks_share_a_plan_and_changed_ones_get_another() {
    let kernel = ResolvedKernel::Planned { isa: widest(), family: KernelFamily::Own };
    let mut planned = Planned::new(kernel, Dtype::Float64, 3);
    let (m, k, n) = (Label(0), Label(1), Label(2));
    let labels = [[m, k], [k, n], [m, n]];
    let [dense, columns] = [[4isize, 1], [1, 4]];
    let layouts = |strides| {
        let square = |tensor: usize, strides| Layout::new(&labels[tensor], &[4, 4], strides);
        [square(0, strides), square(1, &dense), square(2, &dense)]
    };
    let entry = |planned: &Planned, task: usize| planned.contracts.plans[task].as_ref().map(Arc::as_ptr);
    for task in [0, 1, 0] {
        planned.contract(task, &layouts(&dense), 1);
    }
    assert!(entry(&planned, 0).is_some() && entry(&planned, 0) == entry(&planned, 1));
    planned.contract(1, &layouts(&columns), 1);
    assert_ne!(entry(&planned, 0), entry(&planned, 1));
    planned.contract(1, &layouts(&dense), 2);
    assert_ne!(entry(&planned, 0), entry(&planned, 1));
    assert!(entry(&planned, 2).is_none());
}
