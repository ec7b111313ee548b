//! Packages: the steps of a job in one file that people can read, compare and keep.
