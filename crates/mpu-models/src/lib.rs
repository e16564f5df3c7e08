//! mpu-models
