#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bulkwire_fuzz::cases::database_files::database_file(data);
});
