/* einsum-dist: contracts tensors on one core, on all cores, or on many machines over MPI. Written by cbindgen. */

#ifndef EINSUM_DIST_H
#define EINSUM_DIST_H

#include <stddef.h>
#include <stdint.h>

/**
 * The outcome of a call. `einsum_dist_message` says more.
 */
typedef enum einsum_dist_status {
    /**
     * The call succeeded.
     */
    EINSUM_DIST_OK = 0,
    /**
     * An expression or a shape is wrong. The message shows where.
     */
    EINSUM_DIST_EXPRESSION = 1,
    /**
     * No plan satisfies the options.
     */
    EINSUM_DIST_PLAN = 2,
    /**
     * An argument is wrong, or does not match the plan or the world.
     */
    EINSUM_DIST_USAGE = 3,
    /**
     * There is too little memory.
     */
    EINSUM_DIST_MEMORY = 4,
    /**
     * A file cannot be read or written.
     */
    EINSUM_DIST_FILE = 5,
    /**
     * Ranks cannot communicate, or another rank failed.
     */
    EINSUM_DIST_RANKS = 6,
    /**
     * A run failed.
     */
    EINSUM_DIST_RUN = 7,
    /**
     * The library has a bug. Its handles must not be used any more.
     */
    EINSUM_DIST_BUG = 8,
} einsum_dist_status;

/**
 * The type of elements. Complex numbers are pairs of a real and an imaginary part, as in C99 and Fortran.
 */
typedef enum einsum_dist_type {
    /**
     * `float`.
     */
    EINSUM_DIST_FLOAT32 = 0,
    /**
     * `double`.
     */
    EINSUM_DIST_FLOAT64 = 1,
    /**
     * `float complex`.
     */
    EINSUM_DIST_COMPLEX64 = 2,
    /**
     * `double complex`.
     */
    EINSUM_DIST_COMPLEX128 = 3,
} einsum_dist_type;

/**
 * Options for `einsum_dist_plan`.
 */
typedef struct einsum_dist_options einsum_dist_options;

/**
 * The order of contractions, and the algorithm and distribution of each.
 */
typedef struct einsum_dist_plan einsum_dist_plan;

/**
 * A plan compiled for a world, which can run any number of times on changing data.
 */
typedef struct einsum_dist_program einsum_dist_program;

/**
 * A distributed tensor. Each rank stores a dense, row-major block.
 */
typedef struct einsum_dist_tensor einsum_dist_tensor;

/**
 * Ranks in this process, or the processes of an MPI communicator. Belongs to the thread that created it.
 */
typedef struct einsum_dist_world einsum_dist_world;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Frees a string that a function of this library returned; NULL is ignored.
 *
 * # Safety
 * `text` is null or such a string, which is not used again.
 */
void einsum_dist_text_free(char *text);

/**
 * New options with default values.
 *
 * # Safety
 * `options` points to memory for a handle.
 */
einsum_dist_status einsum_dist_options_new(struct einsum_dist_options **options);

/**
 * Sets an option. Names and values are those of flags of the program `einsum-dist`, without dashes: `algorithm`,
 * `objective`, `path`, `path-time`, `runs`, `memory-limit` (bytes), `slice-groups`, `kernel`, `distribution`, `workers`;
 * and lists of operands, `constant` and `conjugate`, such as `0,2`.
 *
 * # Safety
 * `options` is a live handle; `name` and `value` are strings that end with 0.
 */
einsum_dist_status einsum_dist_options_set(struct einsum_dist_options *options,
                                           const char *name,
                                           const char *value);

/**
 * Frees options; NULL is ignored.
 *
 * # Safety
 * `options` is null or a live handle, which is not used again.
 */
void einsum_dist_options_free(struct einsum_dist_options *options);

/**
 * Plans an expression such as `mk,kn->mn` for a world. `shapes` has a list of extents for each operand, as many as its
 * number in `dims`; `type` is an `einsum_dist_type`; `options` may be NULL. Collective: all processes must pass the
 * same, and get the same plan.
 *
 * # Safety
 * `world` is a live handle, `expression` a string that ends with 0, `options` null or a live handle. `dims` and `shapes`
 * have `operands` entries, and each shape as many as stated. `plan` points to memory for a handle.
 */
einsum_dist_status einsum_dist_plan_new(const struct einsum_dist_world *world,
                                        const char *expression,
                                        int type,
                                        size_t operands,
                                        const size_t *dims,
                                        const size_t *const *shapes,
                                        const struct einsum_dist_options *options,
                                        struct einsum_dist_plan **plan);

/**
 * The plan as text, a row per step. `einsum_dist_text_free` frees it.
 *
 * # Safety
 * `plan` is a live handle, and `explained` points to memory for a pointer.
 */
einsum_dist_status einsum_dist_plan_explain(const struct einsum_dist_plan *plan, char **explained);

/**
 * The plan as JSON, as `einsum-dist --explain --json` prints it. `einsum_dist_text_free` frees it.
 *
 * # Safety
 * Same as for [`einsum_dist_plan_explain`].
 */
einsum_dist_status einsum_dist_plan_json(const struct einsum_dist_plan *plan, char **json);

/**
 * The number of the result's dimensions; 0 for NULL.
 *
 * # Safety
 * `plan` is null or a live handle.
 */
size_t einsum_dist_plan_output_dims(const struct einsum_dist_plan *plan);

/**
 * Writes the extents of the result.
 *
 * # Safety
 * `plan` is a live handle; `shape` has room for `einsum_dist_plan_output_dims` extents.
 */
einsum_dist_status einsum_dist_plan_output_shape(const struct einsum_dist_plan *plan, size_t *shape);

/**
 * The predicted seconds of a run; 0 for NULL.
 *
 * # Safety
 * `plan` is null or a live handle.
 */
double einsum_dist_plan_seconds(const struct einsum_dist_plan *plan);

/**
 * The bytes that a rank receives in a run; 0 for NULL or if there is no such rank.
 *
 * # Safety
 * `plan` is null or a live handle.
 */
uint64_t einsum_dist_plan_bytes_received(const struct einsum_dist_plan *plan, size_t rank);

/**
 * Frees a plan; NULL is ignored. Programs keep their own copy.
 *
 * # Safety
 * `plan` is null or a live handle, which is not used again.
 */
void einsum_dist_plan_free(struct einsum_dist_plan *plan);

/**
 * Compiles a plan. Collective.
 *
 * # Safety
 * `world` and `plan` are live handles, and `program` points to memory for a handle.
 */
einsum_dist_status einsum_dist_program_new(const struct einsum_dist_world *world,
                                           const struct einsum_dist_plan *plan,
                                           struct einsum_dist_program **program);

/**
 * Runs a program on whole arrays: `out = alpha * contraction + beta * out`. Every process passes all operands, and gets
 * the whole result. Arrays may have any strides, in elements, negative ones too; a NULL list, or NULL for an array, means
 * dense and row-major (C order). NULL for `alpha` is 1, and for `beta` 0, with which `out` is not read. Collective.
 *
 * # Safety
 * `program` is a live handle. `operands` has an array of the program's type for each operand, and `strides`, unless it
 * is null, a list of strides or null. `out` has distinct elements, none in an operand. `alpha` and `beta` are null or
 * point to values of the program's type.
 */
einsum_dist_status einsum_dist_program_run(struct einsum_dist_program *program,
                                           const void *alpha,
                                           const void *const *operands,
                                           const ptrdiff_t *const *strides,
                                           const void *beta,
                                           void *out,
                                           const ptrdiff_t *out_strides);

/**
 * Like `einsum_dist_program_run`, on distributed tensors: those of `einsum_dist_tensor_operand` and
 * `einsum_dist_tensor_output`, or others in the plan's distributions. No tensor is gathered. Collective.
 *
 * # Safety
 * `program`, the operands and `out` are live handles of one world, and `out` is no operand. `alpha` and `beta` are null or
 * point to values of the program's type.
 */
einsum_dist_status einsum_dist_program_run_distributed(struct einsum_dist_program *program,
                                                       const void *alpha,
                                                       const struct einsum_dist_tensor *const *operands,
                                                       const void *beta,
                                                       struct einsum_dist_tensor *out);

/**
 * Frees a program; NULL is ignored.
 *
 * # Safety
 * `program` is null or a live handle, which is not used again.
 */
void einsum_dist_program_free(struct einsum_dist_program *program);

/**
 * Plans, compiles and runs once, on all threads of this process: `out` is the contraction of the operands. For more than
 * one run, or several ranks, make a plan and a program. Arguments are as for `einsum_dist_plan_new` and
 * `einsum_dist_program_run`.
 *
 * # Safety
 * Same as for these functions.
 */
einsum_dist_status einsum_dist_einsum(const char *expression,
                                      int type,
                                      size_t operands,
                                      const size_t *dims,
                                      const size_t *const *shapes,
                                      const void *const *arrays,
                                      void *out);

/**
 * The message of this thread's last call that returns a status; empty after success. Valid until the next such call.
 */
const char *einsum_dist_message(void);

/**
 * The version of the library, such as `0.1.0`.
 */
const char *einsum_dist_version(void);

/**
 * A tensor of zeros in the distribution that the program's plan has for an operand. Collective.
 *
 * # Safety
 * `program` is a live handle, and `tensor` points to memory for a handle.
 */
einsum_dist_status einsum_dist_tensor_operand(const struct einsum_dist_program *program,
                                              size_t operand,
                                              struct einsum_dist_tensor **tensor);

/**
 * The same for the result.
 *
 * # Safety
 * Same as for [`einsum_dist_tensor_operand`].
 */
einsum_dist_status einsum_dist_tensor_output(const struct einsum_dist_program *program,
                                             struct einsum_dist_tensor **tensor);

/**
 * The number of blocks in this process; under MPI, 1, or 0 if the rank stores nothing. 0 for NULL.
 *
 * # Safety
 * `tensor` is null or a live handle.
 */
size_t einsum_dist_tensor_blocks(const struct einsum_dist_tensor *tensor);

/**
 * A block in this process: its elements, dense and row-major, and its extents, one per dimension.
 *
 * # Safety
 * `tensor` is a live handle. `data` points to memory for a pointer, and `extents` for one extent per dimension. The
 * elements may be used until the tensor is freed, but not while a program runs on it.
 */
einsum_dist_status einsum_dist_tensor_block(struct einsum_dist_tensor *tensor,
                                            size_t block,
                                            void **data,
                                            size_t *extents);

/**
 * The index in the whole tensor of index `at` of a block along a dimension.
 *
 * # Safety
 * `tensor` is a live handle, and `index` points to memory for an index.
 */
einsum_dist_status einsum_dist_tensor_index(const struct einsum_dist_tensor *tensor,
                                            size_t block,
                                            size_t dim,
                                            size_t at,
                                            size_t *index);

/**
 * Writes the whole tensor to an array with these strides on every process; NULL is dense and row-major. Collective.
 *
 * # Safety
 * `tensor` is a live handle, and `out` an array of its type with distinct elements.
 */
einsum_dist_status einsum_dist_tensor_gather(const struct einsum_dist_tensor *tensor,
                                             void *out,
                                             const ptrdiff_t *strides);

/**
 * Frees a tensor; NULL is ignored.
 *
 * # Safety
 * `tensor` is null or a live handle, which is not used again.
 */
void einsum_dist_tensor_free(struct einsum_dist_tensor *tensor);

/**
 * The number of a type's bytes; 0 if there is no such type.
 */
size_t einsum_dist_type_size(int type);

/**
 * A world of one rank, which computes with the threads of the library.
 *
 * # Safety
 * `world` points to memory for a handle.
 */
einsum_dist_status einsum_dist_world_single(struct einsum_dist_world **world);

/**
 * A world of `ranks` ranks in this process, each with a communication thread and workers.
 *
 * # Safety
 * `world` points to memory for a handle.
 */
einsum_dist_status einsum_dist_world_in_process(size_t ranks, struct einsum_dist_world **world);

/**
 * A world of the processes of a communicator. `comm` points to an `MPI_Comm`, which is duplicated. Collective over it.
 * Fails if the library was built without MPI.
 *
 * # Safety
 * `comm` points to a live communicator of the MPI library that this library was built with.
 */
einsum_dist_status einsum_dist_world_mpi(const void *comm, struct einsum_dist_world **world);

/**
 * Like `einsum_dist_world_mpi`, for a communicator of Fortran: an integer, or `comm%MPI_VAL`.
 *
 * # Safety
 * `comm` is a live communicator of the MPI library that this library was built with.
 */
einsum_dist_status einsum_dist_world_mpi_f(int comm, struct einsum_dist_world **world);

/**
 * The number of ranks; 0 for NULL.
 *
 * # Safety
 * `world` is null or a live handle.
 */
size_t einsum_dist_world_ranks(const struct einsum_dist_world *world);

/**
 * The first rank in this process, under MPI the only one; 0 for NULL.
 *
 * # Safety
 * `world` is null or a live handle.
 */
size_t einsum_dist_world_rank(const struct einsum_dist_world *world);

/**
 * Pins the workers of each rank to cores of their own. Call it before tensors and programs exist. Collective.
 *
 * # Safety
 * `world` is a live handle.
 */
einsum_dist_status einsum_dist_world_place(const struct einsum_dist_world *world, size_t workers);

/**
 * Releases what the ranks share, and frees the world, also if it fails. Programs and tensors must be freed first.
 * Collective.
 *
 * # Safety
 * `world` is null or a live handle, which is not used again.
 */
einsum_dist_status einsum_dist_world_finish(struct einsum_dist_world *world);

/**
 * Frees a world without waiting for other processes, as after an error. NULL is ignored.
 *
 * # Safety
 * `world` is null or a live handle, which is not used again.
 */
void einsum_dist_world_free(struct einsum_dist_world *world);

/**
 * The name of the transport: `none`, `shared`, `message`, and others. `einsum_dist_text_free` frees it.
 *
 * # Safety
 * `world` is a live handle, and `transport` points to memory for a pointer.
 */
einsum_dist_status einsum_dist_world_transport(const struct einsum_dist_world *world, char **transport);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EINSUM_DIST_H */
