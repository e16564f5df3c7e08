use std::path::Path;

use super::*;
use crate::source::load::{LoadOptions, load};
use crate::source::progress::Quiet;

#[test]
fn offline_the_error_says_which_file_to_put_where() {
    let locations = Locations::offline_in(Path::new("/data-of-mine"));
    for id in DatasetId::ALL {
        if id == DatasetId::Waveform1 {
            continue; // is generated
        }
        let error = load(id, &locations, &LoadOptions::default(), &Quiet)
            .unwrap_err()
            .to_string();
        assert!(error.contains("downloads are switched off"), "{error}");
        let folder = Path::new("/data-of-mine").join(id.card().folder);
        assert!(
            error.contains(&format!("into {}", folder.display())),
            "{error}"
        );
        for file in id.card().parts.iter().flat_map(|part| part.files) {
            assert!(error.contains(file.name), "{error}");
        }
    }
}
