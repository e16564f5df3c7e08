//! mpu-risk
