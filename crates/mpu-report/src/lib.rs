//! mpu-report
