//! Transformations in T-SQL over rows that are copied: the engine behind `copy::TransformEngine`.
