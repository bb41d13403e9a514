//! Unit tests of `loops`.

use super::*;

fn dim(extent: usize, strides: [isize; 3]) -> Dim<3> {
    Dim { extent, strides }
}

#[test]
fn each_class_has_its_nest() {
    let none = Vec::new;
    let dot = plan_loops(&[none(), none(), none(), vec![dim(1000, [1, 1, 0])]], Dtype::Float32, 1);
    assert!(matches!(&dot.shares[0].nest, Nest::Dots(d) if d.lanes.extent == 1000));
    let matvec = [none(), vec![dim(70, [50, 0, 1])], none(), vec![dim(50, [1, 1, 0])]];
    assert!(matches!(&plan_loops(&matvec, Dtype::Float32, 1).shares[0].nest, Nest::Dots(d) if d.rows.extent == 70));
    let outer = [none(), vec![dim(70, [1, 0, 50])], vec![dim(50, [0, 1, 1])], none()];
    let outer = plan_loops(&outer, Dtype::Float64, 1);
    assert!(outer.swapped);
    assert!(matches!(&outer.shares[0].nest, Nest::Line(l) if l.lanes.extent == 50 && l.rows.extent == 70));
    let product = [vec![dim(9000, [1, 1, 1])], none(), none(), none()];
    assert!(
        matches!(&plan_loops(&product, Dtype::Complex128, 1).shares[0].nest, Nest::Line(l) if l.lanes.extent == 9000)
    );
    let transposed = [vec![dim(90, [90, 1, 90]), dim(90, [1, 90, 1])], none(), none(), none()];
    assert!(matches!(&plan_loops(&transposed, Dtype::Float64, 1).shares[0].nest, Nest::Strided(_)));
}

#[test]
fn a_long_sum_is_split_and_its_parts_are_added() {
    let plan = plan_loops(&[vec![], vec![], vec![], vec![dim(1 << 20, [1, 1, 0])]], Dtype::Float32, 3);
    assert_eq!(plan.shares.len(), 3);
    let blocks: Vec<&SumBlocks> = plan.shares.iter().filter_map(|share| share.blocks.as_ref()).collect();
    assert_eq!(plan.workspace_elements(), 3 * ALIGN + blocks.iter().map(|b| b.buffers * ALIGN).sum::<usize>());
    assert_eq!(blocks.iter().map(|blocks| blocks.cut.extent).sum::<usize>(), 1 << 20);
}

#[test]
fn what_is_small_is_left_to_one_thread() {
    let plan = plan_loops(&[vec![dim(100, [1, 1, 1])], vec![], vec![], vec![]], Dtype::Float32, 8);
    assert_eq!(plan.shares.len(), 1);
    assert!(plan.cost() < 200.0, "{}", plan.cost());
}
