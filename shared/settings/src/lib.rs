//! HOWK_* variables and YAML to typed, validated settings.
