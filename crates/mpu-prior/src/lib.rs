//! mpu-prior
