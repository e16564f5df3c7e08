//! mpu-train
