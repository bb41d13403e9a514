! A product of matrices under MPI, on arrays in Fortran's order.
!
!     mpif90 product.f90 $(pkg-config --cflags --libs einsum_dist_fortran) -o product && mpirun -n 2 ./product
program product_of_matrices
    use, intrinsic :: iso_c_binding
    use mpi
    use einsum_dist
    implicit none

    integer, parameter :: m = 5, n = 7, k = 6
    real(c_double), target :: left(m, k), right(k, n), out(m, n)
    integer(c_intptr_t), target :: left_strides(2), right_strides(2), out_strides(2)
    type(c_ptr) :: world, plan, program
    real(c_double) :: error
    integer :: status

    call MPI_Init(status)
    call random_number(left)
    call random_number(right)
    ! Every rank passes the same arrays.
    call MPI_Bcast(left, size(left), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, status)
    call MPI_Bcast(right, size(right), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, status)

    call check(einsum_dist_world_mpi_f(MPI_COMM_WORLD, world))
    call check(einsum_dist_plan_new(world, "mk,kn->mn", EINSUM_DIST_FLOAT64, [2_c_size_t, 2_c_size_t], &
                                    int([m, k, k, n], c_size_t), c_null_ptr, plan))
    call check(einsum_dist_program_new(world, plan, program))
    left_strides = column_major(int(shape(left), c_size_t))
    right_strides = column_major(int(shape(right), c_size_t))
    out_strides = column_major(int(shape(out), c_size_t))
    call check(einsum_dist_program_run(program, c_null_ptr, [c_loc(left), c_loc(right)], &
                                       [c_loc(left_strides), c_loc(right_strides)], c_null_ptr, &
                                       c_loc(out), c_loc(out_strides)))
    error = maxval(abs(out - matmul(left, right)))
    if (einsum_dist_world_rank(world) == 0) print "(a, es8.1)", "largest error ", error

    call einsum_dist_program_free(program)
    call einsum_dist_plan_free(plan)
    call check(einsum_dist_world_finish(world))
    call MPI_Finalize(status)
    if (.not. error <= 1e-12_c_double) error stop

contains

    subroutine check(status)
        integer(c_int), intent(in) :: status
        if (status /= EINSUM_DIST_OK) then
            print "(a)", einsum_dist_error()
            error stop
        end if
    end subroutine
end program
