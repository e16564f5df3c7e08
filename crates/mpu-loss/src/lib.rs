//! mpu-loss
