//! A vector of numbers, over which the convolution kernels are written.

/// `N` numbers that are worked on together.
///
/// # Safety
/// The methods may use instructions the processor lacks: call them only inside a function
/// compiled for them and reached through an [`Isa`](super::isa::Isa). Pointers must be good for
/// `N` numbers, of any alignment.
pub(crate) trait Lanes: Copy {
    /// How many numbers.
    const N: usize;
    /// All `value`.
    unsafe fn splat(value: f32) -> Self;
    /// `N` numbers from `from`.
    unsafe fn load(from: *const f32) -> Self;
    /// `N` numbers to `to`.
    unsafe fn store(self, to: *mut f32);
    /// `self + a · b`.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
}

/// Four numbers in whatever the target has.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; 4]);

#[allow(
    clippy::inline_always,
    reason = "must be inlined into the compiled-for function"
)]
impl Lanes for Plain {
    const N: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's pointer is good for four numbers.
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's pointer is good for four numbers.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, b: Self) -> Self {
        let (Self(sum), Self(a), Self(b)) = (self, a, b);
        Self([
            sum[0] + a[0] * b[0],
            sum[1] + a[1] * b[1],
            sum[2] + a[2] * b[2],
            sum[3] + a[3] * b[3],
        ])
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64 as arch;

    use super::Lanes;

    /// Defines `N` numbers in one register.
    macro_rules! register {
        ($(#[$doc:meta])* $name:ident, $type:ty, $n:literal, $splat:ident, $load:ident,
         $store:ident, $fma:ident) => {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub(crate) struct $name($type);

            #[allow(clippy::inline_always, reason = "must be inlined where it is compiled for")]
            impl Lanes for $name {
                const N: usize = $n;

                #[inline(always)]
                unsafe fn splat(value: f32) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { arch::$splat(value) })
                }

                #[inline(always)]
                unsafe fn load(from: *const f32) -> Self {
                    // SAFETY: as above, and the pointer is good for `N` numbers.
                    Self(unsafe { arch::$load(from) })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut f32) {
                    // SAFETY: as above.
                    unsafe { arch::$store(to, self.0) }
                }

                #[inline(always)]
                unsafe fn add_product(self, a: Self, b: Self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { arch::$fma(a.0, b.0, self.0) })
                }
            }
        };
    }

    register!(
        /// Eight numbers: AVX2 with FMA.
        Avx2, arch::__m256, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps
    );
    register!(
        /// Sixteen numbers: AVX-512.
        Avx512, arch::__m512, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps,
        _mm512_fmadd_ps
    );
}
