/* Errors of one process reach all, and wrong arguments are reported: `mpirun -n 3 ./errors`, with any number of ranks. */
#include <einsum_dist.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, einsum_dist_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int count, char **arguments) {
    int ranks;
    MPI_Init(&count, &arguments);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);

    einsum_dist_world *world;
    einsum_dist_plan *plan = NULL;
    einsum_dist_program *program;
    expect(einsum_dist_world_mpi(&comm, &world) == EINSUM_DIST_OK, "world");

    const size_t dims[] = {2, 2}, left_shape[] = {9, 8}, right_shape[] = {8, 7};
    const size_t *shapes[] = {left_shape, right_shape};
    const char *expression = rank == ranks - 1 ? NULL : "mk,kn->mn";
    expect(einsum_dist_plan_new(world, expression, EINSUM_DIST_FLOAT64, 2, dims, shapes, NULL, &plan) != EINSUM_DIST_OK,
           "a plan without an expression on the last rank");
    expect(plan == NULL && strlen(einsum_dist_message()) > 0, "no plan, but a message");
    expect(einsum_dist_plan_new(world, "mk,kn->mn", EINSUM_DIST_FLOAT64, 2, dims, shapes, NULL, &plan) == EINSUM_DIST_OK, "plan");
    expect(einsum_dist_program_new(world, plan, &program) == EINSUM_DIST_OK, "program");

    double left[72], right[56], out[63];
    for (int at = 0; at < 72; at++) left[at] = 1.0;
    for (int at = 0; at < 56; at++) right[at] = 2.0;
    const void *operands[] = {left, right}, *missing[] = {left, NULL};
    double *nowhere = rank == ranks - 1 ? NULL : out;
    expect(einsum_dist_program_run(program, NULL, operands, NULL, NULL, nowhere, NULL) != EINSUM_DIST_OK, "no output on the last rank");
    expect(einsum_dist_program_run(program, NULL, rank ? operands : missing, NULL, NULL, out, NULL) != EINSUM_DIST_OK,
           "no operand on rank 0");
    expect(einsum_dist_program_run(program, NULL, operands, NULL, NULL, out, NULL) == EINSUM_DIST_OK, "a right run afterwards");
    for (int at = 0; at < 63; at++) expect(out[at] == 16.0, "its result");

    einsum_dist_program_free(program);
    einsum_dist_plan_free(plan);
    expect(einsum_dist_world_finish(world) == EINSUM_DIST_OK, "the end");
    MPI_Finalize();
    return 0;
}
