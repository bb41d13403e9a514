//! Unit tests of `pause`.

use super::*;

fn slept(pause: &mut Pause, computing: bool) -> Option<Duration> {
    let mut slept = None;
    pause.pause(computing, |time| *slept.insert(time));
    slept
}

#[test]
fn sleeps_grow_until_something_happens() {
    let mut pause = Pause::new(false);
    assert!((0..YIELDS).all(|_| slept(&mut pause, false).is_none()));
    assert_eq!(slept(&mut pause, false), Some(MIN_SLEEP));
    pause.record_poll(Duration::from_micros(1), false);
    assert!((0..20).filter_map(|_| slept(&mut pause, false)).is_sorted());
    assert_eq!(slept(&mut pause, false), Some(MAX_SLEEP));
    pause.record_poll(MIN_BUSY_POLL, false);
    assert_eq!(slept(&mut pause, false), None);
}

#[test]
fn beside_workers_sleeps_follow_what_a_look_takes() {
    let mut pause = Pause::new(false);
    let mut sleeps = |look: Duration| {
        for _ in 0..20 {
            slept(&mut pause, true);
            pause.record_poll(look, false);
            // The next poll follows immediately, and moves no bytes.
            slept(&mut pause, true);
            pause.record_poll(Duration::from_micros(1), false);
        }
        slept(&mut pause, true)
    };
    assert_eq!(sleeps(MIN_BUSY_POLL / 2), Some(MAX_SLEEP));
    assert_eq!(sleeps(MIN_BUSY_POLL), Some(MAX_MOVING_SLEEP));
    assert_eq!(sleeps(2 * MAX_MOVING_SLEEP), Some(MIN_SLEEP));
}

#[test]
fn looks_in_vain_do_not_shorten_sleeps() {
    let mut pause = Pause::new(false);
    for _ in 0..20 {
        slept(&mut pause, true);
        pause.record_poll(MIN_BUSY_POLL, false);
        slept(&mut pause, true);
        pause.record_poll(Duration::from_micros(1), false);
        slept(&mut pause, true);
    }
    let vain = [(); 3].map(|()| {
        pause.record_poll(Duration::from_micros(1), false);
        slept(&mut pause, true)
    });
    assert_eq!(vain, [Some(MAX_MOVING_SLEEP); 3]);
}

#[test]
fn beside_workers_only_a_busy_look_is_followed_by_another_at_once() {
    let mut pause = Pause::new(false);
    pause.record_poll(MIN_BUSY_POLL, false);
    assert_eq!([(); 2].map(|()| slept(&mut pause, true)), [None, Some(MIN_SLEEP)]);
    pause.record_poll(Duration::from_micros(1), true);
    assert_eq!([(); 2].map(|()| slept(&mut pause, true)), [None, Some(MIN_SLEEP)]);
}

#[test]
fn a_thread_with_a_core_never_sleeps() {
    let mut pause = Pause::new(true);
    assert!((0..1000).all(|at| slept(&mut pause, at % 2 == 0).is_none()));
}
