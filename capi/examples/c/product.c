/* A product of matrices, with alpha and beta, on all ranks of this process.
 *
 *     cc product.c $(pkg-config --cflags --libs einsum_dist) -o product && ./product
 */
#include <einsum_dist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 5, N = 7, K = 6 };

/* Every call that can fail returns a status; the message says why. */
static void check(einsum_dist_status status) {
    if (status != EINSUM_DIST_OK) {
        fprintf(stderr, "%s\n", einsum_dist_message());
        exit(1);
    }
}

int main(void) {
    double left[M][K], right[K][N], out[M][N];
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++) left[m][k] = m + 1.0 / (k + 1);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++) right[k][n] = k - n;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) out[m][n] = 1.0;

    einsum_dist_world *world;
    einsum_dist_plan *plan;
    einsum_dist_program *program;
    check(einsum_dist_world_in_process(2, &world));

    const size_t dims[] = {2, 2}, left_shape[] = {M, K}, right_shape[] = {K, N};
    const size_t *shapes[] = {left_shape, right_shape};
    check(einsum_dist_plan_new(world, "mk,kn->mn", EINSUM_DIST_FLOAT64, 2, dims, shapes, NULL, &plan));
    check(einsum_dist_program_new(world, plan, &program));

    /* out = 2 left right + 3 out. A program can run any number of times. */
    const double alpha = 2.0, beta = 3.0;
    const void *operands[] = {left, right};
    check(einsum_dist_program_run(program, &alpha, operands, NULL, &beta, out, NULL));

    int wrong = 0;
    double error = 0.0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double expected = beta;
            for (int k = 0; k < K; k++) expected += alpha * left[m][k] * right[k][n];
            error = fmax(error, fabs(out[m][n] - expected));
            wrong += !(fabs(out[m][n] - expected) < 1e-12);
        }
    char *text;
    check(einsum_dist_plan_explain(plan, &text));
    printf("%s\nlargest error %.1e\n", text, error);
    einsum_dist_text_free(text);

    einsum_dist_program_free(program);
    einsum_dist_plan_free(plan);
    check(einsum_dist_world_finish(world));
    return wrong > 0;
}
