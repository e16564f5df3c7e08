/* A CUDA driver without a card: memory is the host's, kernels do nothing, copies and launches are counted.
   Every name that is not here answers "success". Counts go to the file named by MPU_CUDA_COUNTS. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t up, up_bytes, down, down_bytes, kernels;
#define ADD(counter, n) __atomic_add_fetch(&counter, n, __ATOMIC_RELAXED)

__attribute__((destructor)) static void told(void) {
    const char *name = getenv("MPU_CUDA_COUNTS");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "up %lu\nup-bytes %lu\ndown %lu\ndown-bytes %lu\nkernels %lu\n", up, up_bytes, down, down_bytes, kernels);
    fclose(file);
}

int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 8 : attribute == 76 ? 0 : 1024; /* compute capability 8.0 */
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)16; return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *)16; return 0; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = (void *)32; return 0; }
int cuEventCreate(void **event, unsigned flags) { *event = (void *)48; return 0; }
int cuModuleLoadData(void **module, const void *image) { *module = (void *)64; return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = (void *)80; return 0; }
int cuFuncGetAttribute(int *value, int attribute, void *function) { *value = 256; return 0; }
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *f, void *s, size_t m, int limit) {
    *grid = 1; *block = 256;
    return 0;
}
int cuMemGetInfo_v2(size_t *free, size_t *total) { *free = *total = (size_t)8 << 30; return 0; }
int cuMemAlloc_v2(uint64_t *at, size_t n) { *at = (uint64_t)calloc(n ? n : 1, 1); return *at ? 0 : 2; }
int cuMemAllocAsync(uint64_t *at, size_t n, void *stream) { return cuMemAlloc_v2(at, n); }
int cuMemFree_v2(uint64_t at) { free((void *)at); return 0; }
int cuMemFreeAsync(uint64_t at, void *stream) { return cuMemFree_v2(at); }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) {
    memcpy((void *)to, from, n);
    ADD(up, 1); ADD(up_bytes, n);
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream) { return cuMemcpyHtoD_v2(to, from, n); }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) {
    memcpy(to, (const void *)from, n);
    ADD(down, 1); ADD(down_bytes, n);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream) { return cuMemcpyDtoH_v2(to, from, n); }
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t n) { memcpy((void *)to, (const void *)from, n); return 0; }
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *stream) { return cuMemcpyDtoD_v2(to, from, n); }
int cuLaunchKernel(void) { ADD(kernels, 1); return 0; }
int cublasCreate_v2(void **handle) { *handle = (void *)96; return 0; }
int cublasLtCreate(void **handle) { *handle = (void *)112; return 0; }
int curandCreateGenerator(void **generator, int kind) { *generator = (void *)128; return 0; }
