//! Which vector instructions there are.

/// An instruction set the processor is known to have: only [`Isa::detect`] (and a test's list of
/// all there are) makes one, so that holding it is proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Isa(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What every processor of the target has.
    Plain,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, VL, DQ and BW: without the last three LLVM spills accumulators.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The best there is.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx2() && has_avx512() {
                return Self(Kind::Avx512);
            }
            if has_avx2() {
                return Self(Kind::Avx2);
            }
        }
        Self(Kind::Plain)
    }

    /// All there are, plain first: tests compare them.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        let mut list = vec![Self(Kind::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx2() {
                list.push(Self(Kind::Avx2));
            }
            if has_avx2() && has_avx512() {
                list.push(Self(Kind::Avx512));
            }
        }
        list
    }

    /// Columns of a panel: two registers.
    pub(crate) fn panel(self) -> usize {
        match self.0 {
            Kind::Plain => 8,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => 16,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => 32,
        }
    }

    pub(super) fn kind(self) -> Kind {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
}

/// Compiles a safe function once per instruction set and picks one at run time by a first
/// argument of type [`Isa`]. Only additions, products, roots and comparisons: nothing is
/// contracted, so all compilations give the same bits.
macro_rules! per_isa {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(isa: Isa, $($arg: $ty),*) {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "each caller is one instruction set")]
            fn body($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) {
                body($($arg),*);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn avx512($($arg: $ty),*) {
                body($($arg),*);
            }

            match isa.kind() {
                Kind::Plain => body($($arg),*),
                // SAFETY: an `Isa` of this kind exists only where its features were detected.
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => unsafe { avx512($($arg),*) },
            }
        }
    )*};
}

pub(super) use per_isa;
