/* Random calls of pxgemm, pxgeadd and pxtran, compared with sums over whole matrices that every process has:
 *
 *     mpicc random.c -leinsum_dist_pxgemm -lscalapack && mpirun -n 4 ./a.out CALLS SEED
 *
 * Types, process grids (of fewer processes, too), blocks, first blocks, sources, submatrices, transpositions and factors
 * are random. Values are small integers, so results are exact. Elements outside the submatrix of C, and between columns,
 * must not change; what must not be read is NaN. Ends with `N passed, M failed`. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_pinfo(int *, int *);
void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, const char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
void Cblacs_gridexit(int);
void Cblacs_exit(int);

typedef double complex value;

#define GEMM(x)                                                                                                              \
    void p##x##gemm_(const char *, const char *, const int *, const int *, const int *, const void *, void *, const int *,     \
                     const int *, const int *, void *, const int *, const int *, const int *, const void *, void *,           \
                     const int *, const int *, const int *);                                                                  \
    void p##x##geadd_(const char *, const int *, const int *, const void *, void *, const int *, const int *, const int *,     \
                      const void *, void *, const int *, const int *, const int *);
#define TRAN(name)                                                                                                           \
    void name(const int *, const int *, const void *, void *, const int *, const int *, const int *, const void *, void *,    \
              const int *, const int *, const int *);
GEMM(s) GEMM(d) GEMM(c) GEMM(z)
TRAN(pstran_) TRAN(pdtran_) TRAN(pctranu_) TRAN(pctranc_) TRAN(pztranu_) TRAN(pztranc_)

static unsigned long state;

/* The same on all processes. */
static int below(int limit) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)limit);
}

enum { FLOAT, DOUBLE, COMPLEX, DOUBLE_COMPLEX };
static const size_t sizes[] = {sizeof(float), sizeof(double), sizeof(float complex), sizeof(double complex)};

static void put(int type, void *array, size_t at, value x) {
    switch (type) {
    case FLOAT: ((float *)array)[at] = (float)creal(x); break;
    case DOUBLE: ((double *)array)[at] = creal(x); break;
    case COMPLEX: ((float complex *)array)[at] = (float complex)x; break;
    default: ((double complex *)array)[at] = x;
    }
}

static value get(int type, const void *array, size_t at) {
    switch (type) {
    case FLOAT: return ((const float *)array)[at];
    case DOUBLE: return ((const double *)array)[at];
    case COMPLEX: return ((const float complex *)array)[at];
    default: return ((const double complex *)array)[at];
    }
}

/* NaN equals NaN. */
static int equal(value a, value b) {
    return (isnan(creal(a)) && isnan(creal(b))) || (creal(a) == creal(b) && cimag(a) == cimag(b));
}

static value integer(int type) {
    double real = below(7) - 3, imaginary = below(7) - 3;
    return type >= COMPLEX ? real + imaginary * I : real;
}

enum { MOST = 48 };

typedef struct {
    int descriptor[11], shape[2], start[2], extents[2], first[2], block[2], source[2], leading;
    value whole[MOST][MOST], expected[MOST][MOST];
    void *local;
} matrix;

/* Along rows (dim 0) or columns: the process with an index, and its place there. */
static int owner(const matrix *a, int dim, int parts, int index) {
    int block = index < a->first[dim] ? 0 : 1 + (index - a->first[dim]) / a->block[dim];
    return (a->source[dim] + block) % parts;
}

static int stored(const matrix *a, int dim, int parts, int place, int index) {
    return a->source[dim] < 0 || owner(a, dim, parts, index) == place;
}

static int before(const matrix *a, int dim, int parts, int place, int index) {
    int count = 0;
    for (int other = 0; other < index; other++) count += stored(a, dim, parts, place, other);
    return count;
}

/* A matrix with a submatrix of the extents, without memory. */
static void draw(matrix *a, const int extents[2], const int grid[2], int is_out) {
    for (int dim = 0; dim < 2; dim++) {
        a->extents[dim] = extents[dim];
        a->start[dim] = below(6);
        a->shape[dim] = a->start[dim] + extents[dim] + below(4);
        if (a->shape[dim] == 0) a->shape[dim] = 1;
        a->block[dim] = 1 + below(9);
        a->first[dim] = below(2) ? a->block[dim] : 1 + below(9);
        a->source[dim] = !is_out && below(12) == 0 ? -1 : below(grid[dim]);
    }
}

/* New values, and local memory. */
static void fill(matrix *a, int type, int context, const int grid[2], const int place[2], int nan) {
    int rows = before(a, 0, grid[0], place[0], a->shape[0]), columns = before(a, 1, grid[1], place[1], a->shape[1]);
    a->leading = (rows > 0 ? rows : 1) + below(3);
    for (int i = 0; i < a->shape[0]; i++)
        for (int j = 0; j < a->shape[1]; j++) {
            int inside = i >= a->start[0] && i < a->start[0] + a->extents[0] && j >= a->start[1] && j < a->start[1] + a->extents[1];
            value x = integer(type);
            a->whole[i][j] = a->expected[i][j] = inside && nan ? NAN : x;
        }
    size_t elements = (size_t)a->leading * (size_t)(columns > 0 ? columns : 1);
    a->local = malloc(elements * sizes[type]);
    for (size_t at = 0; at < elements; at++) put(type, a->local, at, 99.0);
    for (int j = 0, column = 0; j < a->shape[1]; j++) {
        if (!stored(a, 1, grid[1], place[1], j)) continue;
        for (int i = 0, row = 0; i < a->shape[0]; i++)
            if (stored(a, 0, grid[0], place[0], i)) put(type, a->local, (size_t)(row++ + column * a->leading), a->whole[i][j]);
        column++;
    }
    /* Without a first block of its own, a matrix can have the usual descriptor. */
    int *d = a->descriptor, usual = a->first[0] == a->block[0] && a->first[1] == a->block[1] && below(3);
    int entries[] = {2,           context,     a->shape[0],  a->shape[1],  a->first[0], a->first[1],
                     a->block[0], a->block[1], a->source[0], a->source[1], a->leading};
    memcpy(d, entries, sizeof entries);
    if (usual) {
        int short_entries[] = {1, context, a->shape[0], a->shape[1], a->block[0], a->block[1], a->source[0], a->source[1], a->leading};
        memcpy(d, short_entries, sizeof short_entries);
    }
}

static int correct(const matrix *a, int type, const int grid[2], const int place[2]) {
    int columns = before(a, 1, grid[1], place[1], a->shape[1]), rows = before(a, 0, grid[0], place[0], a->shape[0]);
    for (int j = 0, column = 0; j < a->shape[1]; j++) {
        if (!stored(a, 1, grid[1], place[1], j)) continue;
        for (int i = 0, row = 0; i < a->shape[0]; i++)
            if (stored(a, 0, grid[0], place[0], i) &&
                !equal(get(type, a->local, (size_t)(row++ + column * a->leading)), a->expected[i][j])) return 0;
        column++;
    }
    for (int column = 0; column < columns; column++)
        for (int row = rows; row < a->leading; row++)
            if (get(type, a->local, (size_t)(row + column * a->leading)) != 99.0) return 0;
    return 1;
}

static value op(const matrix *a, char how, int i, int j) {
    if (how == 'N' || how == 'n') return a->whole[a->start[0] + i][a->start[1] + j];
    value x = a->whole[a->start[0] + j][a->start[1] + i];
    return how == 'C' || how == 'c' ? conj(x) : x;
}

typedef struct {
    int type, add, extents[3];
    char ops[2];
    matrix a, b, c;
} problem;

static void draw_problem(problem *p, const int grid[2]) {
    p->type = below(4);
    p->add = below(4) == 0;
    for (int at = 0; at < 3; at++) p->extents[at] = below(12) ? 1 + below(36) : 0;
    for (int at = 0; at < 2; at++) p->ops[at] = "NTCntc"[below(6)];
    int m = p->extents[0], n = p->extents[1], k = p->add ? n : p->extents[2];
    int plain[] = {p->ops[0] == 'N' || p->ops[0] == 'n', p->ops[1] == 'N' || p->ops[1] == 'n'};
    draw(&p->a, plain[0] ? (int[]){m, k} : (int[]){k, m}, grid, 0);
    draw(&p->b, plain[1] ? (int[]){k, n} : (int[]){n, k}, grid, 0);
    draw(&p->c, (int[]){m, n}, grid, 1);
}

static void expect(problem *p, value alpha, value beta) {
    int k = p->add ? 1 : p->extents[2];
    for (int i = 0; i < p->extents[0]; i++)
        for (int j = 0; j < p->extents[1]; j++) {
            value sum = 0.0, *c = &p->c.expected[p->c.start[0] + i][p->c.start[1] + j];
            for (int at = 0; at < k && alpha != 0.0; at++)
                sum += p->add ? op(&p->a, p->ops[0], i, j) : op(&p->a, p->ops[0], i, at) * op(&p->b, p->ops[1], at, j);
            *c = (alpha == 0.0 ? 0.0 : alpha * sum) + (beta == 0.0 ? 0.0 : beta * *c);
        }
}

static void call(problem *p, const value *factors) {
    float complex single[2] = {(float complex)factors[0], (float complex)factors[1]};
    double real[2] = {creal(factors[0]), creal(factors[1])};
    float single_real[2] = {(float)real[0], (float)real[1]};
    const void *alphas[] = {single_real, real, single, factors}, *betas[] = {single_real + 1, real + 1, single + 1, factors + 1};
    const void *alpha = alphas[p->type], *beta = betas[p->type];
    int starts[3][2];
    matrix *all[] = {&p->a, &p->b, &p->c};
    for (int at = 0; at < 3; at++)
        for (int dim = 0; dim < 2; dim++) starts[at][dim] = all[at]->start[dim] + 1;
    const int *m = &p->extents[0], *n = &p->extents[1], *k = &p->extents[2];
#define A p->a.local, &starts[0][0], &starts[0][1], p->a.descriptor
#define B p->b.local, &starts[1][0], &starts[1][1], p->b.descriptor
#define C p->c.local, &starts[2][0], &starts[2][1], p->c.descriptor
    if (!p->add) {
        void (*gemm[])(const char *, const char *, const int *, const int *, const int *, const void *, void *, const int *,
                       const int *, const int *, void *, const int *, const int *, const int *, const void *, void *,
                       const int *, const int *, const int *) = {psgemm_, pdgemm_, pcgemm_, pzgemm_};
        gemm[p->type](&p->ops[0], &p->ops[1], m, n, k, alpha, A, B, beta, C);
        return;
    }
    int conjugate = p->ops[0] == 'C' || p->ops[0] == 'c';
    if (p->ops[0] == 'N' || p->ops[0] == 'n' || below(2)) {
        void (*geadd[])(const char *, const int *, const int *, const void *, void *, const int *, const int *, const int *,
                        const void *, void *, const int *, const int *, const int *) = {psgeadd_, pdgeadd_, pcgeadd_, pzgeadd_};
        geadd[p->type](&p->ops[0], m, n, alpha, A, beta, C);
        return;
    }
    void (*tran[2][4])(const int *, const int *, const void *, void *, const int *, const int *, const int *, const void *,
                       void *, const int *, const int *, const int *) = {{pstran_, pdtran_, pctranu_, pztranu_},
                                                                         {pstran_, pdtran_, pctranc_, pztranc_}};
    tran[conjugate][p->type](m, n, alpha, A, beta, C);
}

/* Several calls on one grid, some with an earlier signature. Returns how many were wrong. */
static int calls_on_grid(int count, int processes) {
    static problem p;
    int grid[2], place[2], context, wrong = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    grid[0] = 1 + below(processes);
    grid[1] = 1 + below(processes / grid[0]);
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, below(2) ? "Row" : "Col", grid[0], grid[1]);
    Cblacs_gridinfo(context, &grid[0], &grid[1], &place[0], &place[1]);
    /* Processes outside have no context, but draw the same numbers. */
    int in = place[0] >= 0 && place[1] >= 0;
    unsigned long start = state;
    for (int at = 0; at < count; at++) {
        state = start + (unsigned long)at;
        below(2);
        if (!in) continue;
        if (at == 0 || below(4)) draw_problem(&p, grid);
        value factors[2];
        for (int of = 0; of < 2; of++) {
            int kind = below(4);
            factors[of] = kind == 0 ? 0.0 : kind == 1 ? 1.0 : integer(p.type);
        }
        fill(&p.a, p.type, context, grid, place, factors[0] == 0.0);
        fill(&p.b, p.type, context, grid, place, factors[0] == 0.0);
        fill(&p.c, p.type, context, grid, place, factors[1] == 0.0);
        expect(&p, factors[0], factors[1]);
        call(&p, factors);
        int bad = !correct(&p.c, p.type, grid, place) || !correct(&p.a, p.type, grid, place) || !correct(&p.b, p.type, grid, place);
        if (bad)
            printf("wrong on (%d, %d) of %d x %d: type %d, add %d, ops %.2s, m n k = %d %d %d, alpha %g%+gi, beta %g%+gi\n", place[0],
                   place[1], grid[0], grid[1], p.type, p.add, p.ops, p.extents[0], p.extents[1], p.extents[2], creal(factors[0]),
                   cimag(factors[0]), creal(factors[1]), cimag(factors[1]));
        wrong += bad;
        free(p.a.local), free(p.b.local), free(p.c.local);
    }
    if (in) Cblacs_gridexit(context);
    state = start + 77;
    return wrong;
}

int main(int count, char **arguments) {
    int rank, processes, wrong = 0, all = 0, calls = count > 1 ? atoi(arguments[1]) : 200;
    enum { PER_GRID = 20 };
    state = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    Cblacs_pinfo(&rank, &processes);
    for (int done = 0; done < calls; done += PER_GRID) wrong += calls_on_grid(PER_GRID < calls - done ? PER_GRID : calls - done, processes);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d passed, %d failed\n", calls - (all > calls ? calls : all), all);
    Cblacs_exit(0);
    return all > 0;
}
