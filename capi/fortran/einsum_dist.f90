! The Fortran 2008 module of einsum-dist: the functions of einsum_dist.h, with arrays in Fortran's order of dimensions.
!
! Dimensions of an expression are those of the arrays, first to last. Elements of the first dimension are neighbours, so
! pass column_major(shape) as strides. `what` that can fail returns a status, EINSUM_DIST_OK if it succeeded; then
! einsum_dist_error() is empty.
module einsum_dist
    use, intrinsic :: iso_c_binding
    implicit none
    private

    integer(c_int), parameter, public :: EINSUM_DIST_OK = 0
    integer(c_int), parameter, public :: EINSUM_DIST_EXPRESSION = 1
    integer(c_int), parameter, public :: EINSUM_DIST_PLAN = 2
    integer(c_int), parameter, public :: EINSUM_DIST_USAGE = 3
    integer(c_int), parameter, public :: EINSUM_DIST_MEMORY = 4
    integer(c_int), parameter, public :: EINSUM_DIST_FILE = 5
    integer(c_int), parameter, public :: EINSUM_DIST_RANKS = 6
    integer(c_int), parameter, public :: EINSUM_DIST_RUN = 7
    integer(c_int), parameter, public :: EINSUM_DIST_BUG = 8

    integer(c_int), parameter, public :: EINSUM_DIST_FLOAT32 = 0
    integer(c_int), parameter, public :: EINSUM_DIST_FLOAT64 = 1
    integer(c_int), parameter, public :: EINSUM_DIST_COMPLEX64 = 2
    integer(c_int), parameter, public :: EINSUM_DIST_COMPLEX128 = 3

    public :: einsum_dist_error, column_major
    public :: einsum_dist_world_single, einsum_dist_world_in_process, einsum_dist_world_mpi_f
    public :: einsum_dist_world_ranks, einsum_dist_world_rank, einsum_dist_world_place
    public :: einsum_dist_world_finish, einsum_dist_world_free
    public :: einsum_dist_options_new, einsum_dist_options_set, einsum_dist_options_free
    public :: einsum_dist_plan_new, einsum_dist_plan_seconds, einsum_dist_plan_bytes_received, einsum_dist_plan_free
    public :: einsum_dist_program_new, einsum_dist_program_run, einsum_dist_program_free

    interface
        function einsum_dist_world_single(world) bind(c) result(status)
            import :: c_ptr, c_int
            type(c_ptr), intent(out) :: world
            integer(c_int) :: status
        end function

        function einsum_dist_world_in_process(ranks, world) bind(c) result(status)
            import :: c_ptr, c_int, c_size_t
            integer(c_size_t), value :: ranks
            type(c_ptr), intent(out) :: world
            integer(c_int) :: status
        end function

        ! `comm` is an integer, or comm%MPI_VAL of the module mpi_f08.
        function einsum_dist_world_mpi_f(comm, world) bind(c) result(status)
            import :: c_ptr, c_int
            integer(c_int), value :: comm
            type(c_ptr), intent(out) :: world
            integer(c_int) :: status
        end function

        function einsum_dist_world_ranks(world) bind(c) result(ranks)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: world
            integer(c_size_t) :: ranks
        end function

        function einsum_dist_world_rank(world) bind(c) result(rank)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: world
            integer(c_size_t) :: rank
        end function

        function einsum_dist_world_place(world, workers) bind(c) result(status)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: world
            integer(c_size_t), value :: workers
            integer(c_int) :: status
        end function

        function einsum_dist_world_finish(world) bind(c) result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: world
            integer(c_int) :: status
        end function

        subroutine einsum_dist_world_free(world) bind(c)
            import :: c_ptr
            type(c_ptr), value :: world
        end subroutine

        function einsum_dist_options_new(options) bind(c) result(status)
            import :: c_ptr, c_int
            type(c_ptr), intent(out) :: options
            integer(c_int) :: status
        end function

        function c_options_set(options, name, value) bind(c, name="einsum_dist_options_set") result(status)
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: options
            character(kind=c_char), intent(in) :: name(*), value(*)
            integer(c_int) :: status
        end function

        subroutine einsum_dist_options_free(options) bind(c)
            import :: c_ptr
            type(c_ptr), value :: options
        end subroutine

        function c_plan_new(world, expression, kind, operands, dims, shapes, options, plan) &
            bind(c, name="einsum_dist_plan_new") result(status)
            import :: c_ptr, c_int, c_size_t, c_char
            type(c_ptr), value :: world, options
            character(kind=c_char), intent(in) :: expression(*)
            integer(c_int), value :: kind
            integer(c_size_t), value :: operands
            integer(c_size_t), intent(in) :: dims(*)
            type(c_ptr), intent(in) :: shapes(*)
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: status
        end function

        function einsum_dist_plan_seconds(plan) bind(c) result(seconds)
            import :: c_ptr, c_double
            type(c_ptr), value :: plan
            real(c_double) :: seconds
        end function

        function einsum_dist_plan_bytes_received(plan, rank) bind(c) result(bytes)
            import :: c_ptr, c_size_t, c_int64_t
            type(c_ptr), value :: plan
            integer(c_size_t), value :: rank
            integer(c_int64_t) :: bytes
        end function

        subroutine einsum_dist_plan_free(plan) bind(c)
            import :: c_ptr
            type(c_ptr), value :: plan
        end subroutine

        function einsum_dist_program_new(world, plan, program) bind(c) result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: world, plan
            type(c_ptr), intent(out) :: program
            integer(c_int) :: status
        end function

        ! `operands` has c_loc of each array, `strides` c_loc of each list of strides; c_null_ptr for `alpha` is 1, for `beta` 0.
        function einsum_dist_program_run(program, alpha, operands, strides, beta, out, out_strides) bind(c) result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: program, alpha, beta, out, out_strides
            type(c_ptr), intent(in) :: operands(*), strides(*)
            integer(c_int) :: status
        end function

        subroutine einsum_dist_program_free(program) bind(c)
            import :: c_ptr
            type(c_ptr), value :: program
        end subroutine

        function c_message() bind(c, name="einsum_dist_message") result(message)
            import :: c_ptr
            type(c_ptr) :: message
        end function
    end interface

contains

    ! The message of the last call that failed.
    function einsum_dist_error() result(message)
        character(:), allocatable :: message
        character(kind=c_char), pointer :: letters(:)
        integer :: length
        call c_f_pointer(c_message(), letters, [huge(1)])
        length = 0
        do while (letters(length + 1) /= c_null_char)
            length = length + 1
        end do
        allocate (character(length) :: message)
        message = transfer(letters(1:length), message)
    end function

    ! The strides of a contiguous Fortran array.
    pure function column_major(shape) result(strides)
        integer(c_size_t), intent(in) :: shape(:)
        integer(c_intptr_t) :: strides(size(shape))
        integer :: dim
        do dim = 1, size(shape)
            strides(dim) = int(product(shape(:dim - 1)), c_intptr_t)
        end do
    end function

    function einsum_dist_options_set(options, name, value) result(status)
        type(c_ptr), intent(in) :: options
        character(*), intent(in) :: name, value
        integer(c_int) :: status
        status = c_options_set(options, trim(name)//c_null_char, trim(value)//c_null_char)
    end function

    ! `shapes` has the extents of all operands after each other, and `dims` how many each has. `options` may be c_null_ptr.
    function einsum_dist_plan_new(world, expression, kind, dims, shapes, options, plan) result(status)
        type(c_ptr), intent(in) :: world, options
        character(*), intent(in) :: expression
        integer(c_int), intent(in) :: kind
        integer(c_size_t), intent(in) :: dims(:)
        integer(c_size_t), intent(in), target, contiguous :: shapes(:)
        type(c_ptr), intent(out) :: plan
        integer(c_int) :: status
        type(c_ptr) :: starts(size(dims))
        integer :: operand, start
        start = 1
        do operand = 1, size(dims)
            starts(operand) = c_null_ptr
            if (dims(operand) > 0) starts(operand) = c_loc(shapes(start))
            start = start + int(dims(operand))
        end do
        status = c_plan_new(world, trim(expression)//c_null_char, kind, size(dims, kind=c_size_t), dims, starts, options, plan)
    end function
end module
