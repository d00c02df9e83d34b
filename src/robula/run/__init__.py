"""Fifth stage: run a kernel for many steps and keep the draws."""
