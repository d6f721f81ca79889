//! The page of settings that the deployment goes by.

use std::fs;

use crate::metadata;

#[test]
fn the_deployment_knows_every_setting() {
    let page = metadata().workspace_root.join("infra/settings.md");
    let known = fs::read_to_string(&page).unwrap();
    assert!(
        known.trim_end() == settings::reference().trim_end(),
        "settings have changed; write the page anew: cargo run -p howk -- serve --help-settings > infra/settings.md"
    );
}
